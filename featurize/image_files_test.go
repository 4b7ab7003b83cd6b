package featurize

import (
	"bytes"
	"image"
	"image/png"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"pipe/featurize/pixel"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
)

// countingDecoder counts concurrently decoded images.
type countingDecoder struct {
	pixel.Decoder
	inside, most atomic.Int64
}

func (d *countingDecoder) Decode(b []byte) (*pixel.Image, error) {
	now := d.inside.Add(1)
	defer d.inside.Add(-1)
	for most := d.most.Load(); now > most && !d.most.CompareAndSwap(most, now); most = d.most.Load() {
	}
	time.Sleep(5 * time.Millisecond)
	return d.Decoder.Decode(b)
}

// Images are decoded in parallel as long as there is room for their pixels, and have the vectors of their pixels.
func TestFilesAreDecodedWithinTheGate(t *testing.T) {
	e, err := OpenImageEncoder(orttest.Open(t, 1), hftest.CLIPFolder(t, hftest.SpellingCLIP(1)), DefaultImageModelOptions(), 4)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	files, images := make([][]byte, 64), make([]*pixel.Image, 64)
	for i := range files {
		drawn := image.NewGray(image.Rect(0, 0, 30+i, 40))
		for at := range drawn.Pix {
			drawn.Pix[at] = uint8(at * (i + 1))
		}
		var b bytes.Buffer
		if err := png.Encode(&b, drawn); err != nil {
			t.Fatal(err)
		}
		files[i] = b.Bytes()
		if images[i], err = pixel.Decode(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	want := imageVectors(t, e, images...)
	for most, gate := range map[int64]*pixel.Gate{1: pixel.NewGate(1), 4: nil} {
		d := &countingDecoder{Decoder: pixel.StandardDecoder()}
		f := NewImageFiles(e, d)
		if gate != nil {
			f.gate = gate
		}
		got := make([]float32, len(want))
		if err := f.EncodeFiles(t.Context(), got, len(files), func(i int) ([]byte, error) { return files[i], nil }); err != nil {
			t.Fatal(err)
		}
		if d.most.Load() != most || !slices.Equal(got, want) {
			t.Errorf("%d images are decoded at a time, want %d; the same vectors: %v", d.most.Load(), most, slices.Equal(got, want))
		}
	}
}
