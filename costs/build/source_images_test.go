package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/builder/part"
)

// TestBadImagesAreOneError lists everything at once, and leaves no output.
func TestBadImagesAreOneError(t *testing.T) {
	w := newPictures(t, 12, 16)
	want := w.spoil(t)
	_, err := w.run(t.Context())
	var bad *part.BadImagesError
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	checkBad(t, bad.Images, want)
	text := err.Error()
	if !strings.Contains(text, fmt.Sprintf("%d bad images", len(want))) || !strings.Contains(text, "and 2 more") || strings.Count(text, "\n") != part.BadShown+1 {
		t.Errorf("%v", text)
	}
	list := readBytes(t, bad.File)
	if filepath.Dir(bad.File) != w.out()+".work" || strings.Count(list, "\n") != len(want) || !strings.Contains(list, `n1/\xff.jpg: `) {
		t.Errorf("%s holds %s", bad.File, list)
	}
	if hint := bad.Hint(); !strings.Contains(hint, "--skip-bad") || !strings.Contains(hint, bad.File) {
		t.Errorf("hint %q", hint)
	}
	if _, err := os.Stat(w.out()); err == nil {
		t.Error("an output is left")
	}
}

// TestSkippedImagesChangeNothingElse compares a build that leaves bad images out
// with one of a folder that never had them.
func TestSkippedImagesChangeNothingElse(t *testing.T) {
	clean, w := newPictures(t, 24, 16), newPictures(t, 24, 16)
	want := w.spoil(t)
	clean.addImage(t, "n1/png-inside.jpg", pngOf(t, 16, 16))
	clean.write(t, "answers.csv", readBytes(t, filepath.Join(w.dir, "answers.csv")))
	r, err := w.skipBad(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkBad(t, r.Skipped, want)
	if strings.Count(readBytes(t, r.BadList), "\n") != len(want) {
		t.Errorf("list %q", readBytes(t, r.BadList))
	}
	_, plain := clean.mustRun(t)
	got := readTensor(t, w.out())
	if got.Actions.Digests["skipped"] == "" || plain.Actions.Digests["skipped"] != "" || got.Actions.Digests["images"] != plain.Actions.Digests["images"] {
		t.Errorf("digests %v and %v", got.Actions.Digests, plain.Actions.Digests)
	}
	if !strings.HasPrefix(got.Actions.Digests["decoder"], "standard") {
		t.Errorf("decoder %q", got.Actions.Digests["decoder"])
	}
	got.Actions, plain.Actions = nil, nil
	if !reflect.DeepEqual(got, plain) {
		t.Error("the tensors differ")
	}
	again, err := w.skipBad(t.Context())
	if err != nil || again.Resumed != again.Shards || !reflect.DeepEqual(again.Skipped, r.Skipped) {
		t.Errorf("%+v, %v", again, err)
	}
	w.addImage(t, "n1/text.jpg", jpegOf(t, 16, 16, 3)) // mended
	w.write(t, "answers.csv", readBytes(t, filepath.Join(w.dir, "answers.csv"))+"n1/text.jpg,n1\n")
	_, err = w.skipBad(t.Context())
	if err == nil || !strings.Contains(err.Error(), "image n1/text.jpg is new") || !strings.Contains(err.Error(), "skipped changed") {
		t.Errorf("got %v", err)
	}
}

// TestSkipBadOfGoodImagesIsNoChange takes up a build with the flag that was begun
// without it.
func TestSkipBadOfGoodImagesIsNoChange(t *testing.T) {
	w := newPictures(t, 9, 16)
	r, _ := w.mustRun(t)
	again, err := w.skipBad(t.Context())
	if err != nil || again.Digest != r.Digest || again.Resumed != r.Shards || again.Skipped != nil || again.BadList != "" {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestNoImageIsLeft(t *testing.T) {
	w := newPictures(t, 3, 4)
	_, err := w.skipBad(t.Context())
	var bad *part.BadImagesError
	if !errors.As(err, &bad) || len(bad.Images) != 3 || !strings.Contains(bad.Hint(), "no image is left") {
		t.Errorf("got %v", err)
	}
}

// TestLimitsAreSettings widens those that refuse a dot and a ribbon.
func TestLimitsAreSettings(t *testing.T) {
	w := newPictures(t, 3, 16)
	w.addImage(t, "n1/dot.png", pngOf(t, 1, 1))
	w.addImage(t, "n2/ribbon.jpg", jpegOf(t, 20000, 10, 5))
	_, err := w.source(t, false)
	for _, want := range []string{"2 bad images", "dot.png: 1 x 1 pixels, the limit min_side is 8", "ribbon.jpg: 20000 x 10 pixels, the limit max_side is 16384"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	w.cfg.Instances.Settings["limits"] = map[string]any{"min_side": 1, "max_side": 20000}
	src, err := w.source(t, false)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := src.Load(t.Context(), []int{1, 3})
	if err != nil || loaded[0].Image.Width != 1 || loaded[1].Image.Width != 20000 {
		t.Errorf("%v, %v", loaded, err)
	}
	w.cfg.Instances.Settings["limits"] = map[string]any{"min_side": 9, "max_side": 8}
	if _, err := w.source(t, false); err == nil || !strings.Contains(err.Error(), "limits of images") {
		t.Errorf("got %v", err)
	}
}

// TestLabelsAreTheClasses lets experts answer with classes of which there is no
// image.
func TestLabelsAreTheClasses(t *testing.T) {
	w := newPictures(t, 6, 16)
	w.edit(t, "answers.csv", ",n1", ",n9")
	w.write(t, "classes.txt", "n9\nn3\nn2\nn1\n")
	if _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), `unknown label "n9"`) {
		t.Errorf("got %v", err)
	}
	w.cfg.Instances.Settings["classes"] = "classes.txt"
	p := w.plan(t)
	if !slices.Equal(p.Labels, []string{"n9", "n3", "n2", "n1"}) {
		t.Errorf("labels %v", p.Labels)
	}
	w.cfg.Labels = []string{"n1", "n2", "n3", "n9"}
	if p := w.plan(t); !slices.Equal(p.Labels, w.cfg.Labels) {
		t.Errorf("labels %v", p.Labels)
	}
}

// TestImagesThatChangeBehindTheCheck are noticed when they are used.
func TestImagesThatChangeBehindTheCheck(t *testing.T) {
	w := newPictures(t, 3, 16)
	src, err := w.source(t, false)
	if err != nil {
		t.Fatal(err)
	}
	w.addImage(t, "n1/000.jpg", jpegOf(t, 16, 16, 99))
	if err := os.Remove(filepath.Join(w.dir, "images", "n2", "001.jpg")); err != nil {
		t.Fatal(err)
	}
	for row, want := range []string{"has changed since", "was there when images were checked"} {
		_, err := src.Load(t.Context(), []int{row})
		var data *costs.DataError
		if !errors.As(err, &data) || !strings.Contains(err.Error(), want) || !strings.HasSuffix(data.File, fmt.Sprintf("%03d.jpg", row)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestLargeImagesMakeSmallBatches cuts batches by what their images hold.
func TestLargeImagesMakeSmallBatches(t *testing.T) {
	const half = batchPixels / 2
	s := &images{pixels: []int{half, half, 1, 3 * half, 1, 1}}
	p := &plan{cfg: &part.Config{Batch: 3}, Build: &part.Build{Source: s}}
	if got, want := p.cut([]int{0, 1, 2, 3, 4, 5}), []piece{{0, []int{0, 1}}, {2, []int{2}}, {3, []int{3}}, {4, []int{4, 5}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
	for from, want := range []int{2, 2, 1, 1, 2, 1} {
		rows := []int{0, 1, 2, 3, 4, 5}[from:]
		if got := s.Fit(rows); got != want {
			t.Errorf("%d of the rows from %d fit, want %d", got, from, want)
		}
	}
}
