package feature

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/fuzztest"
	"pipe/internal/storage"
)

// A list has as many numbers in every row, and at least one: else the numbers of another column would take its place.
func TestFeatureListsHaveOneLength(t *testing.T) {
	file := filepath.Join(t.TempDir(), "features.csv")
	for text, want := range map[string]string{
		"id,x,y\na,\"[1,2]\",\"[3]\"\nb,\"[1]\",\"[2,3]\"\n": "row 3: column x: has 1 numbers, the first row has 2",
		"id,x,y\na,1,[]\n": "row 2: column y: is an empty list",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		f := &fileFeatures{rows: map[string][]float32{}}
		if err := f.read(t.Context(), storage.File(file), &fileFeaturesSettings{ID: "id"}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzFeatureFile: a file of features is an error about the file, or has at least one number per row, as many in every row;
// written again they are the same.
func FuzzFeatureFile(f *testing.F) {
	f.Add([]byte("id,x,y\na,1,2\nb,-0.5,1e-3\n"), false, false)
	f.Add([]byte("id,v\na,\"[1, 2.5]\"\nb,\"[3,4]\"\n"), false, true)
	f.Add([]byte("{\"id\":\"a\",\"v\":[1,2]}\n{\"id\":\"b\",\"v\":[3,null]}\n"), true, true)
	f.Add([]byte("id,v\na,[]\n"), false, true)
	files := fuzztest.TableFiles(f)
	f.Fuzz(func(t *testing.T, b []byte, lines, named bool) {
		cfg := fileFeaturesSettings{ID: "id"}
		if named {
			cfg.Columns = []string{"v"}
		}
		read := func(file string) (*fileFeatures, error) {
			x := &fileFeatures{rows: make(map[string][]float32)}
			return x, x.read(t.Context(), storage.File(file), &cfg, nil)
		}
		file := files(lines)
		x, err := read(file.Write(t, b))
		if err != nil {
			file.Blames(t, err)
			return
		}
		if x.Dim() < 1 {
			t.Fatal("features without a number")
		}
		var rows []map[string]any
		for id, row := range x.rows {
			if len(row) != x.Dim() || id == "" {
				t.Fatalf("%q has %d features, not %d", id, len(row), x.Dim())
			}
			rows = append(rows, map[string]any{"id": id, "v": row})
		}
		again, err := read(files(true).WriteLines(t, rows))
		fuzztest.Same(t, again.rows, x.rows, err)
	})
}
