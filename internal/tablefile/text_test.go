package tablefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// FuzzTableReader feeds damaged tables; none may cause a panic.
func FuzzTableReader(f *testing.F) {
	f.Add("csv", []byte("id,a\nx,1\n"))
	f.Add("jsonl", []byte("{\"id\":\"x\",\"a\":[1,{\"b\":2}]}\n{\"c\":null}"))
	small := filepath.Join(f.TempDir(), "small.parquet")
	type row struct {
		ID string    `parquet:"id,dict"`
		V  []float32 `parquet:"v,list"`
		M  *struct {
			Score  *float64  `parquet:"score"`
			Tokens []float32 `parquet:"tokens.in,list"`
		} `parquet:"m.1"`
	}
	if err := parquet.WriteFile(small, []row{{ID: "a", V: []float32{1}}, {ID: "b"}}); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("parquet", b)
	f.Fuzz(func(t *testing.T, ending string, b []byte) {
		if ending != "csv" && ending != "jsonl" && ending != "parquet" {
			return
		}
		file := filepath.Join(t.TempDir(), "t."+ending)
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := OpenText(t.Context(), storage.File(file))
		if err != nil {
			return
		}
		defer r.Close()
		err = r.Choose(r.Columns()...)
		for err == nil {
			var cells []string
			if cells, _, err = r.Next(); err == nil && len(cells) != len(r.Columns()) {
				t.Fatalf("%d cells in %d columns", len(cells), len(r.Columns()))
			}
		}
		var bad *dataerror.Error
		if !errors.Is(err, io.EOF) && !errors.As(err, &bad) {
			t.Fatalf("got %v, want a DataError", err)
		}
	})
}

// For a spreadsheet the hint says how to get a table, for other files there is none.
func TestSpreadsheetsAreRefusedWithAHint(t *testing.T) {
	for name, want := range map[string]bool{"a.xlsx": true, "A.XLS": true, "a.ods": true, "a.txt": false} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte("PK"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), storage.File(file))
		var bad *dataerror.Error
		var h interface{ Hint() string }
		if !errors.As(err, &bad) || errors.As(err, &h) != want || want && !strings.Contains(h.Hint(), "CSV") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
