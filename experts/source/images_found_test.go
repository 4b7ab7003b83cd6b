package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/realdata"
)

// TestImageNetLayouts reads the same images as folders of synsets, flat files with
// the synset in the name, and lists.
func TestImageNetLayouts(t *testing.T) {
	good := parttest.JPEG(t, 16, 16, 1)
	for name, c := range map[string]struct {
		files    []string
		text     string // of list.csv
		settings map[string]any
		want     []part.Entry
	}{
		"folders": {[]string{"train/n2/n2_1.JPEG", "train/n1/n1_7.JPEG"}, "", nil, []part.Entry{{ID: "train/n1/n1_7.JPEG", Label: "n1"}, {ID: "train/n2/n2_1.JPEG", Label: "n2"}}},
		"names": {
			[]string{"n2_tench.JPEG", "n1_great_shark.JPEG"},
			"",
			map[string]any{"labels_from": "name"},
			[]part.Entry{{ID: "n1_great_shark.JPEG", Label: "n1"}, {ID: "n2_tench.JPEG", Label: "n2"}},
		},
		"list": {
			[]string{"val/b.JPEG", "val/a.JPEG", "val/unlisted.JPEG"},
			"path,label,split\nval/b.JPEG,n2,val\n./val//a.JPEG,n1,train\n",
			map[string]any{"list": "list.csv", "split": "split"},
			[]part.Entry{{ID: "val/b.JPEG", Label: "n2", Split: "val"}, {ID: "val/a.JPEG", Label: "n1", Split: "train"}},
		},
		"list of paths": {
			[]string{"n2/b.bin", "n1/a.bin"},
			"file\nn2/b.bin\nn1/a.bin\n",
			map[string]any{"list": "list.csv", "id": "file", "labels_from": "folder"},
			[]part.Entry{{ID: "n2/b.bin", Label: "n2"}, {ID: "n1/a.bin", Label: "n1"}},
		},
		"first of each": {
			[]string{"n1/a.jpg", "n1/b.jpg", "n2/c.jpg"}, "", map[string]any{"per_label": 1}, []part.Entry{{ID: "n1/a.jpg", Label: "n1"}, {ID: "n2/c.jpg", Label: "n2"}},
		},
	} {
		w := newImageFiles(t, 0, 0)
		for _, id := range c.files {
			w.addImage(t, id, good)
		}
		w.write(t, "list.csv", c.text)
		for key, value := range c.settings {
			w.settings[key] = value
		}
		w.write(t, "classes.json", `{"0": ["n2", "tench"], "1": ["n1", "shark"], "2": ["n3", "shark"]}`)
		w.settings["classes"] = "classes.json"
		src, err := w.open(t)
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
		"a duplicate class":                 {set{"classes": "x.csv"}, "n1\nn2\nn1\n", `row 3: class 2 is "n1"`},
		"a duplicate row":                   {set{"list": "x.csv"}, "path,label\nn1/000.jpg,n1\nn1/../n1/000.jpg,n1\n", `row 3: column path: "n1/000.jpg" is a duplicate of row 2`},
		"a file that is missing":            {set{"list": "x.csv"}, "path,label\nn1/000.jpg,n1\nn1/999.jpg,n1\n", "n1/999.jpg: no such file or directory"},
		"a folder for a file":               {set{"list": "x.csv"}, "path,label\nn1,n1\n", "n1: is a folder"},
		"a file elsewhere":                  {set{"list": "x.csv"}, "path,label\n../x.jpg,n1\n", "row 2: column path: \"../x.jpg\" is not a path below"},
		"an absolute path":                  {set{"list": "x.csv"}, "path,label\n/x.jpg,n1\n", "row 2: column path: \"/x.jpg\" is not a path below"},
		"an empty label":                    {set{"list": "x.csv"}, "path,label\nn1/000.jpg,\n", "row 2: column label: is empty"},
		"a wrong split":                     {set{"list": "x.csv", "split": "s"}, "path,label,s\nn1/000.jpg,n1,dev\n", "row 2: column s"},
		"a table for a list":                {set{"list": "x.csv", "labels": "x.csv"}, "", "labels and list are both set"},
		"labels from nowhere":               {set{"labels_from": "sky"}, "", `labels_from is "sky"; known are folder, name, table`},
		"labels from no table":              {set{"labels_from": "table"}, "", "neither labels nor list names a table"},
		"labels from two places":            {set{"labels": "x.csv", "labels_from": "name"}, "", "labels names a table"},
		"names without labels":              {set{"labels_from": "name"}, "", "n1/000.jpg: its name does not start with a label"},
		"a decoder":                         {set{"decoder": "best"}, "", `unknown decoder "best"`},
		"a limit":                           {set{"limits": set{"min_sides": 1}}, "", `unknown key "limits.min_sides"`},
		"no folder":                         {set{"folder": "nowhere"}, "", "list images"},
		"a file for the folder":             {set{"folder": "x.csv"}, "", "list images"},
		"no images":                         {set{"folder": "images/none"}, "", "has none"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newImageFiles(t, 3, 16)
			w.write(t, "classes.json", `{"0": ["n1", "tench"], "1": ["n2", "shark"]}`)
			w.write(t, "x.csv", c.file)
			if err := os.MkdirAll(filepath.Join(w.folder(), "none"), 0o777); err != nil {
				t.Fatal(err)
			}
			for key, value := range c.settings {
				w.settings[key] = value
			}
			if _, err := w.open(t); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestImageNetFiles reads flat files of 250 classes, whose labels are in the index.
func TestImageNetFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("checks 250 photos; TestImageNetLayouts runs the same code in the short form")
	}
	folder := realdata.Folder(t, "imagenet")
	w := newImageFiles(t, 0, 0)
	w.settings = map[string]any{
		"folder": filepath.Join(folder, "images"), "labels_from": "name", "classes": filepath.Join(folder, "imagenet_class_index.json"),
	}
	begin := time.Now()
	src, err := w.open(t)
	if err != nil {
		t.Fatal(err)
	}
	first := time.Since(begin)
	if len(src.entries) != 250 || len(src.classes) != 1000 || src.entries[0].Label != "n01440764" {
		t.Errorf("%d images, %d classes, first %+v", len(src.entries), len(src.classes), src.entries[0])
	}
	begin = time.Now()
	if _, err := w.open(t); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d images checked in %.2f s, and again in %.2f s", len(src.entries), first.Seconds(), time.Since(begin).Seconds())
}
