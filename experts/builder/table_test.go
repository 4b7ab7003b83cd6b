package builder

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

func TestListColumnsBecomeArrays(t *testing.T) {
	type row struct {
		ID     string    `parquet:"id"`
		Vector []float32 `parquet:"vector,list"`
	}
	w := newWorld(t, 3)
	if err := parquet.WriteFile(filepath.Join(w.dir, "f.parquet"), []row{{"r1", []float32{1, 2.5}}, {"r0", []float32{3, -4e-5}}, {"r2", []float32{5, 6}}}); err != nil {
		t.Fatal(err)
	}
	w.cfg.Features = []part.Part{{Kind: "file", Settings: map[string]any{"file": "f.parquet"}}}
	_, tensor := w.mustRun(t)
	if want := []float32{3, -4e-5, 1, 2.5, 5, 6}; !reflect.DeepEqual(tensor.Features, want) {
		t.Errorf("features %v, want %v", tensor.Features, want)
	}
}

// TestFeaturesFromAFile joins by id and names what does not fit.
func TestFeaturesFromAFile(t *testing.T) {
	w := newWorld(t, 3)
	w.cfg.Features = []part.Part{{Kind: "file", Settings: map[string]any{"file": "f.csv", "skip": []string{"note"}}}}
	w.write(t, "f.csv", "id,a,note,b\nr2,5,x,6\nr0,1,x,2\nr1,3,x,4\n")
	_, tensor := w.mustRun(t)
	if want := []float32{1, 2, 3, 4, 5, 6}; !reflect.DeepEqual(tensor.Features, want) {
		t.Errorf("features %v, want %v", tensor.Features, want)
	}
	for text, want := range map[string]string{
		"id,a,note,b\nr2,5,x,6\nr0,1,x,2\n":             "1 instances have no features: r1",
		"id,a,note,b\nr2,5,x,6\nr0,1,x,\nr1,1,x,1\n":    `row 3: column b: "" is not a finite number`,
		"id,a,note,b\nr2,5,x,6\nr2,1,x,1\nr1,1,x,1\n":   `row 3: column id: "r2"`,
		"id,a,b\nr0,1,2\nr1,1,1\n":                      "column note: is missing",
		"id,a,note,b\nr2,5,x,NaN\nr0,1,x,1\nr1,1,x,1\n": `row 2: column b: "NaN"`,
	} {
		w.write(t, "f.csv", text)
		_, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
