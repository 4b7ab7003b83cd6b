package builder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/storage"
)

// newPictures is a folder of n pictures in three folders of classes, with answers
// of an expert for each.
func newPictures(t testing.TB, n, side int) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	answers := &strings.Builder{}
	fmt.Fprintln(answers, "id,prediction")
	for i, id := range parttest.Images(t, filepath.Join(w.dir, "images"), n, side) {
		fmt.Fprintf(answers, "%s,%s\n", id, parttest.Classes()[i%2])
	}
	w.write(t, "answers.csv", answers.String())
	w.cfg.Instances = part.Part{Kind: "images", Settings: map[string]any{"folder": "images"}}
	w.cfg.Advice = []part.AdviceConfig{{Name: "none", Kind: "none"}}
	w.cfg.Experts = []part.ExpertConfig{{Name: "known", Kind: "precomputed", Settings: map[string]any{"file": "answers.csv", "prediction": "prediction"}}}
	w.cfg.Features = []part.Part{{Kind: "pooled", Settings: map[string]any{"grid": 2}}}
	w.cfg.Shard, w.cfg.Batch = 8, 3
	return w
}

// addImage writes a file below the folder of the images.
func (w *world) addImage(t testing.TB, id string, b []byte) {
	t.Helper()
	parttest.Write(t, filepath.Join(w.dir, "images", filepath.FromSlash(id)), string(b))
}

// spoil adds every kind of file that is no usable image, and returns what is to
// be said of it.
func (w *world) spoil(t testing.TB) map[string]string {
	t.Helper()
	good := parttest.JPEG(t, 16, 16, 1)
	w.addImage(t, "n1/png-inside.jpg", parttest.PNG(t, 16, 16)) // the content decides: this one is fine
	b, err := os.ReadFile(filepath.Join(w.dir, "answers.csv"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, "answers.csv", string(b)+"n1/png-inside.jpg,n1\n")
	bad := map[string][]byte{
		"n1/empty.jpg": nil, "n1/text.jpg": []byte("this is not an image\n"), "n2/page.jpg": []byte("\n<!DOCTYPE html><html></html>"),
		"n2/short.jpg": good[:len(good)/2], "n2/head.jpg": good[:20], "n3/dot.png": parttest.PNG(t, 1, 1), "n3/wide.png": parttest.PNG(t, 20000, 8),
		"n3/long.jpg": append(slices.Clone(good), make([]byte, 1<<20)...), "flat.jpg": good, "n1/\xff.jpg": good,
	}
	for id, b := range bad {
		w.addImage(t, id, b)
	}
	for id, target := range map[string]string{"n2/gone.jpg": "nowhere.jpg", "n2/loop.jpg": "loop.jpg", "n4": "n5", "n5": "n4"} {
		if err := os.Symlink(target, filepath.Join(w.dir, "images", id)); err != nil {
			t.Fatal(err)
		}
	}
	w.cfg.Instances.Settings["limits"] = map[string]any{"max_bytes": 1 << 20}
	return map[string]string{
		"n1/empty.jpg": "the file is empty", "n1/text.jpg": "neither JPEG, PNG, GIF, BMP nor WebP", "n2/page.jpg": "it is a web page", "n2/short.jpg": "truncated",
		"n2/head.jpg": "truncated", "n3/dot.png": "1 x 1 pixels, the limit min_side is 8", "n3/wide.png": "20000 x 8 pixels, the limit max_side is 16384",
		"n3/long.jpg": "bytes, the limit max_bytes is 1048576", "flat.jpg": "is not in a class folder", "n1/\xff.jpg": "not UTF-8",
		"n2/gone.jpg": "the link leads nowhere: no such file or directory", "n2/loop.jpg": "too many levels of symbolic links",
		"n4": "too many levels of symbolic links", "n5": "too many levels of symbolic links",
	}
}

func (w *world) skipBad(ctx context.Context) (*Report, error) {
	return Run(ctx, w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), SkipBad: true})
}

func readTensor(t testing.TB, file string) *costs.Tensor {
	t.Helper()
	tensor, err := costs.Read(t.Context(), storage.File(file), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tensor
}
