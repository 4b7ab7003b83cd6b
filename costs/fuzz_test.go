package costs

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/storage"
	"pipe/internal/tablefile"
)

// FuzzRead: whatever the bytes, Read and the Reader return a valid tensor or a
// *DataError, agree on which, and do not panic.
func FuzzRead(f *testing.F) {
	for _, spoil := range []func(*rawFile){
		func(*rawFile) {},
		func(r *rawFile) { r.double = true },
		func(r *rawFile) { r.pages = true },
		func(r *rawFile) { r.codec = &parquet.Lz4Raw },
		func(r *rawFile) { r.codec = &parquet.Zstd },
		func(r *rawFile) { r.lists[colLoss][1] = nil },
		func(r *rawFile) { r.lists["observed_c"] = r.lists["tokens_in"] },
	} {
		raw := goodRaw()
		spoil(raw)
		f.Add(raw.bytes(f))
	}
	small := testTensor(1, 6, 2, testActions(2, 2))
	path := filepath.Join(f.TempDir(), "t.parquet")
	if err := Write(f.Context(), storage.File(path), small); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	small.Times = make([]int64, small.Len())
	small.Facts = factsFor(small, 1, 3)
	small.Loss[3], small.Fee[3] = float32(math.NaN()), float32(math.NaN())
	if err := Write(f.Context(), storage.File(path), small); err != nil {
		f.Fatal(err)
	}
	if b, err = os.ReadFile(path); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "t.parquet")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		tensor, err := Read(t.Context(), storage.File(path), ReadOptions{})
		streamed := drain(path, 3)
		var data *DataError
		switch {
		case err != nil && !errors.As(err, &data):
			t.Fatalf("error of another kind: %v", err)
		case err != nil && streamed == nil && !strings.Contains(err.Error(), "is a duplicate"):
			t.Fatalf("only Read refuses: %v", err)
		case err == nil && streamed != nil:
			t.Fatalf("only the Reader refuses: %v", streamed)
		case err == nil:
			if err := tensor.Validate(); err != nil {
				t.Fatalf("read and invalid: %v", err)
			}
		}
		partial, err := Read(t.Context(), storage.File(path), ReadOptions{Unknown: true})
		switch {
		case err != nil && tensor != nil:
			t.Fatalf("refused because unknown outcomes are permitted: %v", err)
		case err == nil:
			if err := partial.ValidatePartial(); err != nil {
				t.Fatalf("read and invalid: %v", err)
			}
		}
		openTableAndRead(t, path)
	})
}

// openTableAndRead reads every column that a foreign table has.
func openTableAndRead(t *testing.T, path string) {
	tab, err := tablefile.Open(t.Context(), storage.File(path))
	if err != nil {
		return
	}
	defer tab.Close()
	columns := tab.Names()
	if tab.Choose(columns) != nil {
		return
	}
	cells := make([]tablefile.Cell, len(columns))
	for range 1000 {
		if _, err := tab.Next(cells); err != nil {
			return
		}
		for i := range cells {
			_ = cells[i].String()
			cells[i].Float()
			cells[i].Floats()
		}
	}
}
