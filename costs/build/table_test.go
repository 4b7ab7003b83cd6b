package build

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pipe/costs/builder/part"

	"github.com/parquet-go/parquet-go"
)

// TestEveryFormatReadsTheSameTable writes one table in every format.
func TestEveryFormatReadsTheSameTable(t *testing.T) {
	dir := t.TempDir()
	text := "id,score,note\na,1.5,\"x, y\"\nb,,é\n"
	lines := `{"id":"a","score":1.5,"note":"x, y"}` + "\n\n" + `{"note":"é","id":"b","score":null}` + "\n"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID    string   `parquet:"id"`
		Score *float64 `parquet:"score,optional"`
		Note  string   `parquet:"note,dict"`
	}
	score := 1.5
	table := filepath.Join(dir, "t.parquet")
	if err := parquet.WriteFile(table, []row{{"a", &score, "x, y"}, {"b", nil, "é"}}); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"t.csv": []byte(text), "mark.csv": append([]byte("\ufeff"), text...), "t.csv.gz": zipped.Bytes(), "t.jsonl": []byte(lines),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"t.csv", "mark.csv", "t.csv.gz", "t.jsonl", "t.parquet"} {
		var cells [][]string
		err := part.EachRow(t.Context(), filepath.Join(dir, name), func(have *part.Columns) ([]string, error) {
			return have.Existing("id", "score", "note")
		}, func(row []string, _ int) error {
			cells = append(cells, slices.Clone(row))
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := [][]string{{"a", "1.5", "x, y"}, {"b", "", "é"}}; !reflect.DeepEqual(cells, want) {
			t.Errorf("%s: got %q", name, cells)
		}
	}
}

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
		"id,a,b\nr0,1,2\nr1,1,1\n":                      "column note: is not there",
		"id,a,note,b\nr2,5,x,NaN\nr0,1,x,1\nr1,1,x,1\n": `row 2: column b: "NaN"`,
	} {
		w.write(t, "f.csv", text)
		_, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: w.out(), Dir: w.dir, Restart: true})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
