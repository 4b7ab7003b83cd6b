package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const convertText = `Convert makes one ONNX file of a text encoder: a graph from token ids to a vector, and in its metadata the tokenizer
and all settings, so that the file is all that pipe needs to read texts. The encoder is a folder as Hugging Face keeps
models (an ONNX export, or config.json with model.safetensors of a known architecture), an .onnx file, or the name of a
model in the local Hugging Face cache.

With --merge, a policy follows in the same file: token ids go in, actions come out. A policy that was trained on the
features of another encoder is refused.`

const convertExamples = `  pipe convert sentence-transformers/all-MiniLM-L6-v2 --out encoder.onnx
  pipe convert models/all-MiniLM-L6-v2 --out served.onnx --merge policy.onnx
  pipe convert encoder.onnx --merge policy.onnx --out served.onnx --json`

func convertCommand(a *app) *cobra.Command {
	o := pipeline.DefaultConvertOptions()
	c := &cobra.Command{
		Use:     "convert MODEL --out FILE",
		Short:   "Make one ONNX file of an encoder, or of an encoder and a policy",
		Long:    convertText,
		Example: convertExamples,
		Args:    oneArg("one model"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Model = args[0]
			return runConvert(c, a, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Out, "out", "o", "", "the ONNX file")
	f.StringVar(&o.Merge, "merge", "", "a policy to put behind the encoder")
	f.IntVar(&o.MaxLength, "max-length", 0, "most tokens of a text, special ones counted; 0 is what the model says")
	return c
}

func runConvert(c *cobra.Command, a *app, o pipeline.ConvertOptions) error {
	if err := required(c, "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	r, err := pipeline.Convert(c.Context(), o)
	if err != nil {
		return err
	}
	return a.print(r)
}
