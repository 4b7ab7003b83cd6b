package part

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/storage"
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
		err := EachRow(t.Context(), storage.File(filepath.Join(dir, name)), func(have *Columns) ([]string, error) {
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
