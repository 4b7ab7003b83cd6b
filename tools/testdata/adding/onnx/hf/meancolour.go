package hf

import (
	"fmt"

	"pipe/onnx"
)

// meanColour is the config.json of model_type mean_colour: the vector is a product with the mean of all pixels.
type meanColour struct {
	Image int64 `json:"image_size"`
	Width int64 `json:"projection_dim"`
}

func readMeanColour(folder string) (c meanColour, err error) {
	if err := readJSON(folder, configFile, &c); err != nil {
		return c, err
	}
	if err := checkSizes(map[string]int64{"image_size": c.Image, "projection_dim": c.Width}); err != nil {
		return c, fmt.Errorf("%s: %w", configFile, err)
	}
	return c, nil
}

func describeMeanColour(folder string, c *Config) error {
	own, err := readMeanColour(folder)
	c.ImageSize = own.Image
	return err
}

func buildMeanColour(folder string, w *weights, o Options) (*onnx.Model, error) {
	c, err := readMeanColour(folder)
	if err != nil {
		return nil, err
	}
	g := onnx.NewGraph("encoder")
	pixels := g.Input(PixelValues, onnx.Float32, onnx.Shape{batch, onnx.Fix(3), onnx.Fix(c.Image), onnx.Fix(c.Image)})
	g.Output(ImageEmbeds, g.MatMul(g.ReduceMean(pixels, false, 2, 3), g.NamedConst("colours.weight", w.get("colours.weight", 3, c.Width))))
	if w.err != nil {
		return nil, w.err
	}
	return g.Build(onnx.BuildOptions{})
}
