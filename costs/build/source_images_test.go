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
	"time"

	"pipe/costs"
	"pipe/internal/realdata"
)

// TestBadImagesAreOneError lists everything at once, and leaves no output.
func TestBadImagesAreOneError(t *testing.T) {
	w := newPictures(t, 12, 16)
	want := w.spoil(t)
	_, err := w.run(t.Context())
	var bad *BadImagesError
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	checkBad(t, bad.Images, want)
	text := err.Error()
	if !strings.Contains(text, fmt.Sprintf("%d bad images", len(want))) || !strings.Contains(text, "and 2 more") || strings.Count(text, "\n") != badShown+1 {
		t.Errorf("%v", text)
	}
	list := readBytes(t, bad.File)
	if filepath.Dir(bad.File) != w.out()+".work" || strings.Count(list, "\n") != len(want) || !strings.Contains(list, `"n1/\xff.jpg"`) {
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
	var bad *BadImagesError
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

// TestImageNetLayouts reads the same images as folders of synsets, flat files with
// the synset in the name, and lists.
func TestImageNetLayouts(t *testing.T) {
	good := jpegOf(t, 16, 16, 1)
	for name, c := range map[string]struct {
		files    []string
		text     string // of list.csv
		settings map[string]any
		want     []Entry
	}{
		"folders": {[]string{"train/n2/n2_1.JPEG", "train/n1/n1_7.JPEG"}, "", nil, []Entry{{ID: "train/n1/n1_7.JPEG", Label: "n1"}, {ID: "train/n2/n2_1.JPEG", Label: "n2"}}},
		"names": {
			[]string{"n2_tench.JPEG", "n1_great_shark.JPEG"},
			"",
			map[string]any{"labels_from": "name"},
			[]Entry{{ID: "n1_great_shark.JPEG", Label: "n1"}, {ID: "n2_tench.JPEG", Label: "n2"}},
		},
		"list": {
			[]string{"val/b.JPEG", "val/a.JPEG", "val/unlisted.JPEG"},
			"path,label,split\nval/b.JPEG,n2,val\n./val//a.JPEG,n1,train\n",
			map[string]any{"list": "list.csv", "split": "split"},
			[]Entry{{ID: "val/b.JPEG", Label: "n2", Split: "val"}, {ID: "val/a.JPEG", Label: "n1", Split: "train"}},
		},
		"list of paths": {
			[]string{"n2/b.bin", "n1/a.bin"},
			"file\nn2/b.bin\nn1/a.bin\n",
			map[string]any{"list": "list.csv", "id": "file", "labels_from": "folder"},
			[]Entry{{ID: "n2/b.bin", Label: "n2"}, {ID: "n1/a.bin", Label: "n1"}},
		},
		"first of each": {
			[]string{"n1/a.jpg", "n1/b.jpg", "n2/c.jpg"}, "", map[string]any{"per_label": 1}, []Entry{{ID: "n1/a.jpg", Label: "n1"}, {ID: "n2/c.jpg", Label: "n2"}},
		},
	} {
		w := newPictures(t, 0, 0)
		for _, id := range c.files {
			w.addImage(t, id, good)
		}
		w.write(t, "list.csv", c.text)
		for key, value := range c.settings {
			w.cfg.Instances.Settings[key] = value
		}
		w.write(t, "classes.json", `{"0": ["n2", "tench"], "1": ["n1", "shark"], "2": ["n3", "shark"]}`)
		w.cfg.Instances.Settings["classes"] = "classes.json"
		src, err := w.source(t, false)
		if err != nil || !slices.Equal(src.Entries(), c.want) || !slices.Equal(src.Classes(), []string{"n2", "n1", "n3"}) {
			t.Errorf("%s: %v, %v", name, src, err)
		}
	}
}

// TestImageSettingsThatDoNotFit breaks one thing at a time.
func TestImageSettingsThatDoNotFit(t *testing.T) {
	type set = map[string]any
	for name, c := range map[string]struct {
		settings set
		file     string // text of x.csv
		want     string
	}{
		"a synset that is not in the index": {set{"classes": "classes.json"}, "", `n3/002.jpg: its label "n3" is not one of the 2 classes`},
		"a class that is there twice":       {set{"classes": "x.csv"}, "n1\nn2\nn1\n", `row 3: class 2 is "n1"`},
		"a row that is there twice":         {set{"list": "x.csv"}, "path,label\nn1/000.jpg,n1\nn1/../n1/000.jpg,n1\n", `row 3: column path: "n1/000.jpg" is there already, in row 2`},
		"a file that is missing":            {set{"list": "x.csv"}, "path,label\nn1/000.jpg,n1\nn1/999.jpg,n1\n", "n1/999.jpg: no such file or directory"},
		"a folder for a file":               {set{"list": "x.csv"}, "path,label\nn1,n1\n", "n1: is a folder"},
		"a file elsewhere":                  {set{"list": "x.csv"}, "path,label\n../x.jpg,n1\n", "row 2: column path: \"../x.jpg\" is no path below"},
		"an absolute path":                  {set{"list": "x.csv"}, "path,label\n/x.jpg,n1\n", "row 2: column path: \"/x.jpg\" is no path below"},
		"an empty label":                    {set{"list": "x.csv"}, "path,label\nn1/000.jpg,\n", "row 2: column label: is empty"},
		"a wrong split":                     {set{"list": "x.csv", "split": "s"}, "path,label,s\nn1/000.jpg,n1,dev\n", "row 2: column s"},
		"a table for a list":                {set{"list": "x.csv", "labels": "x.csv"}, "", "labels and list are both there"},
		"labels from nowhere":               {set{"labels_from": "sky"}, "", `labels_from is "sky"; known are folder, name, table`},
		"labels from no table":              {set{"labels_from": "table"}, "", "no table is named"},
		"labels from two places":            {set{"labels": "x.csv", "labels_from": "name"}, "", "labels names a table"},
		"names without labels":              {set{"labels_from": "name"}, "", "n1/000.jpg: its name does not start with a label"},
		"a decoder":                         {set{"decoder": "best"}, "", `unknown decoder "best"`},
		"a limit":                           {set{"limits": set{"min_sides": 1}}, "", `unknown key "min_sides"`},
		"no folder":                         {set{"folder": "nowhere"}, "", "list images"},
		"a file for the folder":             {set{"folder": "answers.csv"}, "", "list images"},
		"no images":                         {set{"folder": "images/none"}, "", "holds none"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPictures(t, 3, 16)
			w.write(t, "classes.json", `{"0": ["n1", "tench"], "1": ["n2", "shark"]}`)
			w.write(t, "x.csv", c.file)
			if err := os.MkdirAll(filepath.Join(w.dir, "images", "none"), 0o777); err != nil {
				t.Fatal(err)
			}
			for key, value := range c.settings {
				w.cfg.Instances.Settings[key] = value
			}
			if _, err := w.source(t, false); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
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
	if !slices.Equal(p.labels, []string{"n9", "n3", "n2", "n1"}) {
		t.Errorf("labels %v", p.labels)
	}
	w.cfg.Labels = []string{"n1", "n2", "n3", "n9"}
	if p := w.plan(t); !slices.Equal(p.labels, w.cfg.Labels) {
		t.Errorf("labels %v", p.labels)
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

// TestImageNetFiles reads flat files of 250 classes, whose labels are in the index.
func TestImageNetFiles(t *testing.T) {
	folder := realdata.Folder(t, "imagenet")
	w := newPictures(t, 0, 0)
	w.cfg.Instances = Part{Kind: "images", Settings: map[string]any{
		"folder": filepath.Join(folder, "images"), "labels_from": "name", "classes": filepath.Join(folder, "imagenet_class_index.json"),
	}}
	begin := time.Now()
	src, err := w.source(t, false)
	if err != nil {
		t.Fatal(err)
	}
	first := time.Since(begin)
	if len(src.entries) != 250 || len(src.classes) != 1000 || src.entries[0].Label != "n01440764" {
		t.Errorf("%d images, %d classes, first %+v", len(src.entries), len(src.classes), src.entries[0])
	}
	begin = time.Now()
	if _, err := w.source(t, false); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images checked in %.2f s, and again in %.2f s", len(src.entries), first.Seconds(), time.Since(begin).Seconds())
}

// TestLargeImagesMakeSmallBatches cuts batches by what their images hold.
func TestLargeImagesMakeSmallBatches(t *testing.T) {
	const half = batchPixels / 2
	s := &images{pixels: []int{half, half, 1, 3 * half, 1, 1}}
	for from, want := range []int{2, 2, 1, 1, 2, 1} {
		rows := []int{0, 1, 2, 3, 4, 5}[from:]
		if got := s.Fit(rows); got != want {
			t.Errorf("%d of the rows from %d fit, want %d", got, from, want)
		}
	}
}
