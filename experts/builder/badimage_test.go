package builder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
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
	parttest.CheckBad(t, bad.Images, want)
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
	clean.addImage(t, "n1/png-inside.jpg", parttest.PNG(t, 16, 16))
	clean.write(t, "answers.csv", readBytes(t, filepath.Join(w.dir, "answers.csv")))
	r, err := w.skipBad(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parttest.CheckBad(t, r.Skipped, want)
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
	w.addImage(t, "n1/text.jpg", parttest.JPEG(t, 16, 16, 3)) // mended
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
