package source

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/parttest"
	"pipe/internal/fuzztest"
)

// TestColumnsAreReadAgain: a table that changed after its instances were listed is an error.
func TestColumnsAreReadAgain(t *testing.T) {
	for _, text := range []string{"id,x\na,1\nb,3\n", "id,x\na,1\n", "id,x\na,1\nc,2\n", "id,x\na,1\nb,2\nc,3\n"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "t.csv")
		parttest.Write(t, file, "id,x\na,1\nb,2\n")
		src, err := newTable(t.Context(), instancesIn(dir), map[string]any{"file": "t.csv", "label": ""})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := src.Columns().Find("x"); err != nil {
			t.Fatal(err)
		}
		parttest.Write(t, file, text)
		var bad *costs.DataError
		if _, err := src.Load(t.Context(), []int{0}); !errors.As(err, &bad) || !strings.Contains(err.Error(), "has changed") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzTable: a table of instances is an error about the file, or has instances with distinct ids and everything that the
// configuration names.
func FuzzTable(f *testing.F) {
	f.Add([]byte("id,label,split,group,text\na,cat,train,u,x y\nb,dog,val,u,z\n"), false, byte(15))
	f.Add([]byte("id,label\na,cat\na,dog\n"), false, byte(1))
	f.Add([]byte("{\"id\":\"a\",\"label\":\"cat\",\"text\":\"x\"}\n{\"id\":7,\"label\":\"dog\",\"text\":\"y\"}\n"), true, byte(9))
	files := fuzztest.TableFiles(f)
	f.Fuzz(func(t *testing.T, b []byte, lines bool, columns byte) {
		file := files(lines)
		settings := map[string]any{"file": file.Write(t, b), "label": ""}
		for i, name := range []string{"label", "split", "group", "text"} {
			if columns>>i&1 == 1 {
				settings[name] = name
			}
		}
		src, err := newTable(t.Context(), instancesIn(""), settings)
		if err != nil {
			file.Blames(t, err)
			return
		}
		first, rows := map[string]bool{}, make([]int, len(src.Entries()))
		for i, e := range src.Entries() {
			if rows[i] = i; e.ID == "" || first[e.ID] || (settings["label"] != "") != (e.Label != "") || (settings["group"] != nil) != (e.Group != "") {
				t.Fatalf("row %d is %+v", i, e)
			}
			if _, err := costs.ParseSplit(e.Split); settings["split"] != nil && err != nil {
				t.Fatal(err)
			}
			first[e.ID] = true
		}
		at, err := src.Columns().Find(src.Columns().Names...)
		if err != nil {
			t.Fatal(err)
		}
		list, err := src.Load(t.Context(), rows)
		if err != nil {
			file.Blames(t, err)
			return
		}
		for _, in := range list {
			if (settings["text"] != nil) != (in.Text != "") {
				t.Fatalf("%+v", in)
			}
			for _, c := range at {
				if _, err := src.Columns().Number(&in, c); err != nil {
					file.Blames(t, err)
				}
			}
		}
	})
}
