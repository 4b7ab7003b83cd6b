package featurize

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pipe/featurize/pixel"
	"pipe/internal/dataerror"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// batched is a file of a graph for images of one pixel, n at a time, whose vector
// is made of its values.
func batched(t *testing.T, n onnx.Dim, vector func(g *onnx.Graph, x *onnx.Value) *onnx.Value) string {
	t.Helper()
	g := onnx.NewGraph("batched")
	g.Output("y", vector(g, g.Input("x", onnx.Float32, onnx.Shape{n, onnx.Fix(3), onnx.Fix(1), onnx.Fix(1)})))
	m, err := g.Build(onnx.BuildOptions{})
	path := filepath.Join(t.TempDir(), "batched.onnx")
	if err == nil {
		err = m.WriteFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// onePixel is what happens to images for the graphs of batched.
var onePixel = ImageModelOptions{Preprocess: &pixel.Preprocess{Width: 1, Height: 1, Layout: pixel.NCHW, Std: [3]float32{1, 1, 1}}}

// A graph with a fixed batch size gets batches of that size; an impossible size is
// an error.
func TestGraphsOfSomeImages(t *testing.T) {
	e := openImages(t, orttest.Open(t, 0), batched(t, onnx.Fix(3), (*onnx.Graph).Relu), onePixel)
	var images []*pixel.Image
	var want []float32
	for i := range uint8(5) {
		images = append(images, &pixel.Image{Width: 1, Height: 1, Pix: []uint8{i, 2 * i, 255}})
		want = append(want, float32(i)/255, float32(2*i)/255, 1)
	}
	sameValues(t, "five by three", imageVectors(t, e, images...), want, 1e-7)
	for _, n := range []int64{0, 1 << 40} {
		_, err := ReadImageModel(batched(t, onnx.Fix(n), (*onnx.Graph).Relu), onePixel)
		var bad *dataerror.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "the graph takes batches of") {
			t.Errorf("%d at a time: %v", n, err)
		}
	}
}

// A graph whose batch is of a negative size, as some exporters write those that
// are open, takes any, and so does the encoder's file that is made of it.
func TestGraphsOfOpenBatches(t *testing.T) {
	rt := orttest.Open(t, 0)
	for _, n := range []int64{-1, math.MinInt64} {
		path := batched(t, onnx.Fix(n), (*onnx.Graph).Relu)
		m, err := ReadImageModel(path, onePixel)
		if err != nil {
			t.Fatal(err)
		}
		file, err := m.Encoder()
		if err != nil {
			t.Fatal(err)
		}
		if s := file.Inputs()[0].Shape.String(); s != "[batch 1 1 3]" {
			t.Errorf("the file takes pixels of shape %s", s)
		}
		e := openImages(t, rt, path, onePixel)
		img := &pixel.Image{Width: 1, Height: 1, Pix: []uint8{51, 102, 255}}
		sameValues(t, "three", imageVectors(t, e, img, img, img), []float32{.2, .4, 1, .2, .4, 1, .2, .4, 1}, 1e-7)
	}
}

// The image that cannot be encoded is named; what no image is to blame for is
// not laid on one.
func TestImagesThatCannotBeEncoded(t *testing.T) {
	ratios := func(g *onnx.Graph, x *onnx.Value) *onnx.Value { return g.Div(x, x) }
	e := openImages(t, orttest.Open(t, 0), batched(t, onnx.Sym("n"), ratios), onePixel)
	images := make([]*pixel.Image, 40)
	for i := range images {
		images[i] = &pixel.Image{Width: 1, Height: 1, Pix: []uint8{1, 2, 3}}
	}
	out := make([]float32, 3*len(images))
	for want, spoiled := range map[string]*pixel.Image{
		"the vector is not finite": {Width: 1, Height: 1, Pix: []uint8{1, 0, 3}},
		"2 x 1 pixels":             {Width: 2, Height: 1, Pix: make([]uint8, 6)},
	} {
		good := images[37]
		images[37] = spoiled
		var bad *ImageError
		if err := e.Encode(context.Background(), out, images); !errors.As(err, &bad) || bad.Index != 37 || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q of image 37, got %v", want, err)
		}
		images[37] = good
	}
	if err := e.Encode(context.Background(), out[1:], images); err == nil || !strings.Contains(err.Error(), "dst has 119 values; 40 images need 120") {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var bad *ImageError
	if err := e.Encode(ctx, out, images); !errors.Is(err, context.Canceled) || errors.As(err, &bad) {
		t.Error(err)
	}
	if err := e.Encode(context.Background(), out, images); err != nil {
		t.Error(err)
	}
}
