package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/pipeline/convert"
)

const convertText = `Convert makes one ONNX file of a text or image encoder. The metadata of the file has everything that pipe needs to use
it. The encoder is a Hugging Face folder (an ONNX export, or config.json and model.safetensors of a supported
architecture), an .onnx file, or the name of a model in the local Hugging Face cache.

A text encoder takes token ids; the tokenizer and its settings are in the metadata. An image encoder takes uint8 pixels,
resized and cropped; scaling is part of the graph. An .onnx file of an image encoder does not say how images must be resized
and scaled, so set --size and the flags beside it. Of a CLIP model the image encoder is used, or the one that --tower
names.

With --merge, a policy follows the encoder in the same file: token ids or pixels go in, actions come out. The policy must
have been trained on the features of this encoder; any other is refused. A file with a policy gets a description in
JSON beside it, FILE.json.

An any-price policy (pipe train --any-price) becomes a smaller file with fixed prices: those of its training, or as --lambda
and --fee change them, without what --without leaves out. Its scores are those of the any-price policy at these prices. An
encoder can only precede fixed prices, so --merge of an any-price policy needs --lambda or --fee. An any-price cascade
becomes a cascade with fixed prices in the same way.`

const convertExamples = `  pipe convert sentence-transformers/all-MiniLM-L6-v2 --out encoder.onnx
  pipe convert models/all-MiniLM-L6-v2 --out served.onnx --merge policy.onnx
  pipe convert openai/clip-vit-base-patch32 --merge policy.onnx --out served.onnx --json
  pipe convert anyprice.onnx --lambda 0.5 --fee expert=large:0.02 --out fixed.onnx
  pipe convert cascade-any-price.onnx --fee expert=large:0.02 --out cascade.onnx
  pipe convert mobilenet.onnx --size 224 --resize 256 --mean 0.5 --std 0.5 --out encoder.onnx`

func convertCommand(a *app) *cobra.Command {
	o, images := convert.DefaultOptions(), &imageFlags{}
	c := &cobra.Command{
		Use:     "convert MODEL --out FILE",
		Short:   "Make one ONNX file of an encoder, of an encoder and a policy, or of a policy at fixed prices",
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
	cli.LocationVarP(f, &o.Out, "out", "o", "the ONNX file")
	cli.LocationVar(f, &o.Merge, "merge", "a policy to append to the encoder")
	f.StringVar(&o.Tower, "tower", "", "which encoder of a model with two: text or vision")
	f.IntVar(&o.MaxLength, "max-length", 0, "text: most tokens, including special ones; 0: as in the model's files")
	f.StringVar(&o.Tokenizer, "tokenizer", "", "text: tokenizer.json or its folder, for a model without one")
	f.StringVar(&o.Output, "output", "", "image: which output is the vector, for a model with several")
	images.add(c)
	priceFlags(f, &o.Prices, &o.PriceFile)
	return c
}

func runConvert(c *cobra.Command, a *app, o convert.Options) error {
	if err := required(c, "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	a.Progress().Start(-1, "convert")
	defer a.Progress().Done()
	r, err := convert.Run(c.Context(), o)
	if err != nil {
		return err
	}
	return a.Print(r)
}
