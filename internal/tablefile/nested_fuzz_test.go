package tablefile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// FuzzNested reads every column of a JSON file, with and without a list of rows, and of the same bytes as JSON lines.
// The result is an end or an error about data.
func FuzzNested(f *testing.F) {
	for _, text := range []string{
		`{"model":"m","records":[{"i":1,"u":{"in":3}},{"u":null}],"cost":1}`, `[{"a":{"b.c":1},"a.b":{"c":2}}]`, `{"records":{}}`,
		`{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":{"j":1}}}}}}}}}}`, "{\"m\":{\"s\":1}}\n{\"m\":2}", `[[]]`, `[{}]`, `{"records":[{"\u0061":"\ud800"}]}`,
	} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, s := range map[string]Layout{"a.json": {}, "b.json": {Rows: "records", All: true}, "c.jsonl": {All: true}} {
			s.Path = storage.File(filepath.Join(dir, name))
			if err := os.WriteFile(s.Path.String(), b, 0o666); err != nil {
				t.Fatal(err)
			}
			table, err := s.Open(t.Context())
			if err == nil {
				names := table.Names()
				table.Close()
				err = readAll(s, names[:min(len(names), 50)]...)
			}
			var bad *dataerror.Error
			if err != nil && !errors.As(err, &bad) {
				t.Fatalf("got %v, want an error about data", err)
			}
		}
	})
}
