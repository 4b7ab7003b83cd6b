package feature

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/featurize/pixel"
	"pipe/internal/storage"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
)

// drawnImages is a source of images whose pixels depend on their row.
type drawnImages struct{ part.Source }

func (drawnImages) Entries() []part.Entry {
	list := make([]part.Entry, 26)
	for row := range list {
		list[row].ID = string(rune('a' + row))
	}
	return list
}

func (drawnImages) Load(_ context.Context, rows []int) ([]part.Instance, error) {
	batch := make([]part.Instance, len(rows))
	for i, row := range rows {
		img := &pixel.Image{Width: 20 + row, Height: 15, Pix: make([]uint8, 3*(20+row)*15)}
		for at := range img.Pix {
			img.Pix[at] = uint8(at*(row+3) + row)
		}
		batch[i] = part.Instance{Entry: part.Entry{ID: string(rune('a' + row))}, Image: img, Row: row}
	}
	return batch, nil
}

// imageSetup is a build of drawn images in a folder with small.onnx, a linear model of 3 x 12 x 12 pixels with two outputs.
func imageSetup(t *testing.T) *part.Setup {
	t.Helper()
	rt, dir := orttest.Open(t, 0), t.TempDir()
	weights := make([][]float32, 3*12*12)
	for i := range weights {
		v := float32(i%7-3) / 100
		weights[i] = []float32{v, -v}
	}
	parttest.LinearModel(t, filepath.Join(dir, "small.onnx"), onnx.Shape{onnx.Sym("n"), onnx.Fix(3), onnx.Fix(12), onnx.Fix(12)}, weights)
	b := &part.Build{
		Source: drawnImages{}, Dir: storage.File(dir), Workers: 2, Inputs: part.Inputs{},
		Open: func() (*ort.Runtime, error) { return rt, nil },
	}
	return b.Setup("features[0] image")
}

func TestImageFeaturesRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]any
		want     string
	}{
		"no encoder":    {map[string]any{}, "encoder: not set"},
		"no size":       {map[string]any{"encoder": "small.onnx"}, "preprocessor_config.json"},
		"lonely resize": {map[string]any{"encoder": "small.onnx", "resize": 14}, "size: is required"},
		"lonely layout": {map[string]any{"encoder": "small.onnx", "layout": "nhwc"}, "size: is required"},
		"two means":     {map[string]any{"encoder": "small.onnx", "size": 12, "mean": []float64{0, 0}}, "mean has 2 values"},
		"other size":    {map[string]any{"encoder": "small.onnx", "size": 13}, "small.onnx"},
		"other layout":  {map[string]any{"encoder": "small.onnx", "size": 12, "layout": "nhwc"}, "small.onnx"},
		"precision":     {map[string]any{"encoder": "small.onnx", "size": 12, "precision": "int8"}, "float32, float16"},
		"not there":     {map[string]any{"encoder": "absent.onnx", "size": 12}, "absent.onnx"},
	} {
		if _, err := newImageFeatures(t.Context(), imageSetup(t), c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestKeptVectorsAreTaken keeps the vectors of any subset of the images, as an expert with the same model does: they are
// taken as they are, and the encoder is run for the other images alone, with the vectors that it makes of all.
func TestKeptVectorsAreTaken(t *testing.T) {
	s := imageSetup(t)
	made, err := newImageFeatures(t.Context(), s, map[string]any{"encoder": "small.onnx", "size": 12, "resize": 13})
	if err != nil {
		t.Fatal(err)
	}
	f := made.(*imageFeatures)
	defer f.Close()
	shared, err := part.VectorsOf(s.Build, f.encoder.Digest())
	if err != nil || !shared.Wanted() {
		t.Fatalf("wanted %t, %v", shared.Wanted(), err)
	}
	ran := 0
	encode := f.encode
	f.encode = func(ctx context.Context, dst []float32, n int, fill func(dst []uint8, i int) error) error {
		ran += n
		return encode(ctx, dst, n, fill)
	}
	const n, dim = 6, 2
	var whole []float32
	for kept := range 1 << n {
		batch, err := s.Source.Load(t.Context(), []int{0, 1, 2, 3, 4, 5})
		if err != nil {
			t.Fatal(err)
		}
		part.ShareSizes(batch, nil)
		want, left := slices.Clone(whole), 0
		for i := range batch {
			if kept>>i&1 == 0 {
				left++
				continue
			}
			v := []float32{float32(i) + 0.5, -1}
			shared.Keep(batch[i].Sizes, v)
			copy(want[i*dim:], v)
		}
		got := make([]float32, n*dim)
		ran = 0
		if err := f.Encode(t.Context(), got, &part.Batch{Instances: batch}); err != nil {
			t.Fatal(err)
		}
		if kept == 0 {
			whole, want = got, got
		}
		close := func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-5 }
		if ran != left || !slices.EqualFunc(got, want, close) {
			t.Fatalf("kept %06b: %v, want %v; the encoder was run for %d images, want %d", kept, got, want, ran, left)
		}
	}
}
