package featurize

import (
	"fmt"

	"pipe/featurize/pixel"
	"pipe/onnx"
	"pipe/onnx/rewrite"
)

// pixelGraph adds the scaling of pixels before a model of float32 images, and
// the flattening of an output after it.
func pixelGraph(m *onnx.Model, output string, p *pixel.Preprocess) (*onnx.Model, error) {
	inputs := m.Inputs()
	if len(inputs) != 1 || inputs[0].DType != onnx.Float32 {
		return nil, fmt.Errorf("the graph has inputs %s; an image encoder must have a single input, of float32", listed(inputs))
	}
	in := inputs[0]
	sizes := []int{3, p.Height, p.Width}
	if p.Layout == pixel.NHWC {
		sizes = []int{p.Height, p.Width, 3}
	}
	if in.Shape != nil && !fits(in.Shape, sizes...) {
		return nil, fmt.Errorf("the graph takes images of shape %s, but the preprocessing makes [batch %d %d %d] (%s)", in.Shape, sizes[0], sizes[1], sizes[2], p.Layout)
	}
	batch := onnx.Sym("batch")
	if in.Shape != nil && in.Shape[0].Known() {
		batch = in.Shape[0]
	}
	m, err := m.WithOutputs(output)
	if err != nil {
		return nil, err
	}
	scaling, err := scalingGraph(p, batch)
	if err != nil {
		return nil, err
	}
	names := rewrite.MergeOptions{Name: "encoder", FirstPrefix: "pixels/"}
	if m, err = rewrite.Merge(scaling, m, map[string]string{"images": in.Name}, names); err != nil {
		return nil, err
	}
	flat, err := flatGraph(m.Outputs()[0], batch)
	if err != nil {
		return nil, err
	}
	names = rewrite.MergeOptions{Name: "encoder", SecondPrefix: "vector/"}
	return rewrite.Merge(m, flat, map[string]string{output: "values"}, names)
}

// scalingGraph converts pixels to float32 images in the model's layout, with
// the operations of Preprocess.table in the same order.
func scalingGraph(p *pixel.Preprocess, batch onnx.Dim) (*onnx.Model, error) {
	g := onnx.NewGraph("pixels")
	x := g.Input(PixelsInput, onnx.Uint8, onnx.Shape{batch, onnx.Fix(int64(p.Height)), onnx.Fix(int64(p.Width)), onnx.Fix(3)})
	channels := func(v [3]float32) *onnx.Value { return g.Const(onnx.Float32s([]int64{3}, v[:])) }
	x = g.Div(g.Cast(x, onnx.Float32), g.Scalar(onnx.Float32, 255))
	x = g.Div(g.Sub(x, channels(p.Mean)), channels(p.Std))
	if p.Layout == pixel.NCHW {
		x = g.Transpose(x, 0, 3, 1, 2)
	}
	g.Output("images", x)
	return g.Build(onnx.BuildOptions{})
}

// flatGraph reshapes an output to two axes.
func flatGraph(values onnx.IO, batch onnx.Dim) (*onnx.Model, error) {
	g := onnx.NewGraph("vector")
	shape, width := values.Shape, onnx.Sym("width")
	if shape == nil {
		shape = onnx.Shape{batch, width}
	}
	if shape[1].Known() {
		width = shape[1]
	}
	x := g.Input("values", onnx.Float32, shape)
	if len(shape) > 2 {
		x = g.ReshapeTo(x, g.Const(onnx.Int64s([]int64{2}, []int64{0, -1})), onnx.Shape{batch, width})
	}
	g.Output(ImageEmbedding, g.AssumeShape(x, onnx.Shape{batch, width}))
	return g.Build(onnx.BuildOptions{})
}

// largestBatch limits the bytes of the images in a batch that a graph requires.
const largestBatch = 1 << 30

// check rejects a graph with an impossible batch size.
func (m *ImageModel) check() error {
	most := int64(max(1, largestBatch/m.Preprocess.Len()))
	if n := m.Graph.Inputs()[0].Shape[0]; n.Known() && (n.Size < 1 || n.Size > most) {
		return fmt.Errorf("the graph takes batches of %d images; 1 to %d of this size are supported", n.Size, most)
	}
	return nil
}

// checkPixels checks the graph of an encoder's file against its description.
func checkPixels(graph *onnx.Model, p *pixel.Preprocess) error {
	in, out := graph.Inputs(), graph.Outputs()
	if len(in) != 1 || in[0].Name != PixelsInput || in[0].DType != onnx.Uint8 || !fits(in[0].Shape, p.Height, p.Width, 3) {
		return fmt.Errorf("the graph has inputs %s; an encoder of %d x %d pixels must have one, %s, uint8 [batch %d %d 3]", listed(in), p.Width, p.Height, PixelsInput, p.Height, p.Width)
	}
	if len(out) != 1 || out[0].Name != ImageEmbedding || out[0].DType != onnx.Float32 || len(out[0].Shape) != 2 {
		return fmt.Errorf("the graph has outputs %s; an image encoder must have one, %s, float32 [batch width]", listed(out), ImageEmbedding)
	}
	return nil
}
