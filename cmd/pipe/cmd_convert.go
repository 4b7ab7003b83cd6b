package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const convertText = `Convert makes one ONNX file of an encoder of texts or images, and in its metadata all that pipe needs to use it. The
encoder is a folder as Hugging Face keeps models (an ONNX export, or config.json with model.safetensors of a known
architecture), an .onnx file, or the name of a model in the local Hugging Face cache.

An encoder of texts takes token ids; tokenizer and settings are in the metadata. An encoder of images takes pixels, uint8,
resized and cropped; scaling is in the graph. What resizing and scaling an .onnx file of images wants, its
file does not say: --size and the flags beside it do. Of CLIP, the encoder of images is taken, or that of --tower.

With --merge, a policy follows in the same file: token ids or pixels go in, actions come out. A policy that was trained on
the features of another encoder is refused.`

const convertExamples = `  pipe convert sentence-transformers/all-MiniLM-L6-v2 --out encoder.onnx
  pipe convert models/all-MiniLM-L6-v2 --out served.onnx --merge policy.onnx
  pipe convert openai/clip-vit-base-patch32 --merge policy.onnx --out served.onnx --json
  pipe convert mobilenet.onnx --size 224 --resize 256 --mean 0.5 --std 0.5 --out encoder.onnx`

func convertCommand(a *app) *cobra.Command {
	o, images := pipeline.DefaultConvertOptions(), &imageFlags{}
	c := &cobra.Command{
		Use:     "convert MODEL --out FILE",
		Short:   "Make one ONNX file of an encoder, or of an encoder and a policy",
		Long:    convertText,
		Example: convertExamples,
		Args:    oneArg("one model"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Model = args[0]
			if err := images.set(c, &o); err != nil {
				return err
			}
			return runConvert(c, a, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Out, "out", "o", "", "the ONNX file")
	f.StringVar(&o.Merge, "merge", "", "a policy to put behind the encoder")
	f.StringVar(&o.Tower, "tower", "", "of a model with encoders of both: text or vision")
	f.IntVar(&o.MaxLength, "max-length", 0, "of texts: most tokens, special ones counted; 0 is what the model says")
	f.StringVar(&o.Tokenizer, "tokenizer", "", "of texts: tokenizer.json, or a folder that holds it, of a model without")
	f.StringVar(&o.Output, "output", "", "of images: the output that is the vector, of a model that has several")
	images.add(c)
	return c
}

func runConvert(c *cobra.Command, a *app, o pipeline.ConvertOptions) error {
	if err := required(c, "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	a.progress().Start(-1, "convert")
	defer a.progress().Done()
	r, err := pipeline.Convert(c.Context(), o)
	if err != nil {
		return err
	}
	return a.print(r)
}
