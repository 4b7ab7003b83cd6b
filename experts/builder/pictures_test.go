package builder

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/storage"
)

// pictureFolder holds a wide, a high and a small picture, each of one colour.
func pictureFolder(t *testing.T) part.Config {
	t.Helper()
	dir := t.TempDir()
	for name, p := range map[string]struct {
		w, h int
		c    color.NRGBA
	}{
		"red/wide.png": {400, 100, color.NRGBA{R: 250, G: 10, B: 10, A: 255}}, "red/high.png": {30, 300, color.NRGBA{R: 240, G: 0, B: 0, A: 255}},
		"blue/small.png": {20, 10, color.NRGBA{R: 0, G: 0, B: 240, A: 255}},
	} {
		img := image.NewNRGBA(image.Rect(0, 0, p.w, p.h))
		for y := range p.h {
			for x := range p.w {
				img.SetNRGBA(x, y, p.c)
			}
		}
		var b bytes.Buffer
		path := filepath.Join(dir, name)
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cfg := newWorld(t, 4).cfg
	cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": dir}}
	cfg.Split = part.Part{Kind: "random"}
	return cfg
}

// TestPicturesAreSmallAndOfTheirInstance: shape and colour are kept, small ones are not enlarged.
func TestPicturesAreSmallAndOfTheirInstance(t *testing.T) {
	cfg, o := pictureFolder(t), Options{Kinds: kinds.Builtin(), Out: storage.File(filepath.Join(t.TempDir(), "x.parquet"))}
	sizes := map[string]image.Point{"red/wide.png": {X: 96, Y: 24}, "red/high.png": {X: 10, Y: 96}, "blue/small.png": {X: 20, Y: 10}}
	var ids []string
	for id := range sizes {
		ids = append(ids, id)
	}
	got, err := Pictures(context.Background(), cfg, o, ids, 96)
	if err != nil || len(got.JPEG) != len(sizes) {
		t.Fatal(got, err)
	}
	for id, want := range sizes {
		img, kind, err := image.Decode(bytes.NewReader(got.JPEG[id]))
		if err != nil || kind != "jpeg" || img.Bounds().Size() != want {
			t.Fatalf("%s: a %s of %v, %v; want %v", id, kind, img.Bounds().Size(), err, want)
		}
		r, _, b, _ := img.At(want.X/2, want.Y/2).RGBA()
		if red := strings.HasPrefix(id, "red"); red != (r > b) {
			t.Errorf("%s: red %d, blue %d", id, r>>8, b>>8)
		}
	}
}

func TestPicturesRefuse(t *testing.T) {
	o := Options{Kinds: kinds.Builtin(), Out: storage.File(filepath.Join(t.TempDir(), "x.parquet"))}
	if _, err := Pictures(context.Background(), pictureFolder(t), o, []string{"red/none.png"}, 96); err == nil || !strings.Contains(err.Error(), `no instance "red/none.png"`) {
		t.Errorf("got %v", err)
	}
	w := newWorld(t, 4)
	o.Dir = storage.File(w.dir)
	if _, err := Pictures(context.Background(), w.cfg, o, []string{"r1"}, 96); err == nil || !strings.Contains(err.Error(), "no images") {
		t.Errorf("got %v", err)
	}
}
