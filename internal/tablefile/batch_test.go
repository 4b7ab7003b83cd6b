package tablefile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/storage"
)

type batchRow struct {
	Dict  *string   `parquet:"dict,optional,dict"`
	Plain *string   `parquet:"plain,optional"`
	Count int64     `parquet:"count"`
	Score *float64  `parquet:"score,optional"`
	Right bool      `parquet:"right"`
	List  []float32 `parquet:"list,list"`
}

func drawnRows(r *rand.Rand, n int) []batchRow {
	rows := make([]batchRow, n)
	for i := range rows {
		row := &rows[i]
		if text := fmt.Sprint("t", r.IntN(5)); r.IntN(5) > 0 {
			row.Dict, row.Plain = &text, &text
		} else if r.IntN(2) == 0 {
			row.Dict, row.Plain = new(string), new(string)
		}
		if score := float64(i) / 4; r.IntN(5) > 0 {
			row.Score = &score
		}
		row.Count, row.Right = int64(i/3)-5, i%3 == 0
		for j := range 1 + r.IntN(40) {
			row.List = append(row.List, float32(i*100+j))
		}
	}
	return rows
}

// TestBatches: rows are read as they were written, whatever the sizes of pages and row groups are. Codes, repeats and
// numbers say the same as cells. A table can be closed at any time.
func TestBatches(t *testing.T) {
	columns := []string{"list", "dict", "plain", "count", "score", "right"}
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		rows := drawnRows(r, 1+r.IntN(300))
		path := filepath.Join(t.TempDir(), "t.parquet")
		err := parquet.WriteFile(path, rows, parquet.PageBufferSize(1<<(3+r.IntN(12))), parquet.MaxRowsPerRowGroup(int64(1+r.IntN(300))))
		if err != nil {
			t.Fatal(err)
		}
		table, err := Open(t.Context(), storage.File(path))
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Choose(columns); err != nil {
			t.Fatal(err)
		}
		read, stop := 0, len(rows)
		if seed%4 == 0 {
			stop = r.IntN(len(rows))
		}
		for read < stop {
			b, err := table.Read()
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.Rows {
				checkBatchRow(t, b, i, rows[read+i])
				if b.Place(i) != read+i+1 {
					t.Fatalf("row %d is at %d", read+i+1, b.Place(i))
				}
			}
			read += b.Rows
		}
		if _, err := table.Read(); stop == len(rows) && !errors.Is(err, io.EOF) {
			t.Errorf("after the last row: %v", err)
		}
		table.Close()
		table.Close()
	}
}

func checkBatchRow(t *testing.T, b *Batch, i int, want batchRow) {
	t.Helper()
	row := b.Row(i)
	list := row.Cell(0)
	if got, err := list.Floats(); err != nil || !slices.Equal(got, want.List) {
		t.Fatalf("list is %v, want %v: %v", got, want.List, err)
	}
	text := ""
	if want.Dict != nil {
		text = *want.Dict
	}
	dict := &b.Columns[1]
	if dict.Dictionary().Len() == 0 || (dict.Code(i) < 0) != (text == "") {
		t.Fatalf("%q has code %d", text, dict.Code(i))
	}
	for c := 1; c <= 2; c++ {
		if cell := row.Cell(c); row.Text(c) != text || cell.String() != text || row.Missing(c) != (text == "") {
			t.Fatalf("%s is %q, want %q", []string{"", "dict", "plain"}[c], row.Text(c), text)
		}
		if b.Columns[c].Repeats(i) && (i == 0 || b.Row(i-1).Text(c) != text) {
			t.Fatalf("%q repeats", text)
		}
	}
	if v, err := row.Float(3); err != nil || v != float64(want.Count) || row.Text(3) != fmt.Sprint(want.Count) {
		t.Fatalf("count is %v or %s, want %d: %v", v, row.Text(3), want.Count, err)
	}
	if i > 0 && b.Columns[3].Repeats(i) != (b.Row(i-1).Text(3) == row.Text(3)) {
		t.Fatalf("%d repeats: %v", want.Count, b.Columns[3].Repeats(i))
	}
	switch v, err := row.Float(4); {
	case want.Score == nil && (err == nil || !row.Missing(4)):
		t.Fatalf("a missing score is %v", v)
	case want.Score != nil && (err != nil || v != *want.Score):
		t.Fatalf("score is %v, want %v: %v", v, *want.Score, err)
	}
	if v, err := row.Flag(5); err != nil || (v == 1) != want.Right {
		t.Fatalf("right is %v, want %v: %v", v, want.Right, err)
	}
}
