package outcome

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/storage"
)

const foreignTables = `
import sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
out = sys.argv[1]
n = 3000
question, model, right, paid, x = [], [], [], [], []
for i in range(n):
  x.append([i / 4, -i])
  for m, who in enumerate(["small", "large"]):
    question.append(10 * i); model.append(who); right.append((i + m) % 3 == 0); paid.append(i % 5 / 8)
o = pa.table({"question": question, "model": pa.array(model).dictionary_encode(), "right": right, "paid": paid, "other": question})
pq.write_table(o, out + "/outcomes.parquet", row_group_size=1000)
f = pa.table({"question": pa.array(range(0, 10 * n, 10), pa.int32()), "x": x, "flag": [i % 2 == 0 for i in range(n)], "count": list(range(n))})
pq.write_table(f, out + "/features.parquet", data_page_size=500)
`

func TestImportsTablesOfPyArrow(t *testing.T) {
	dir := t.TempDir()
	judge.Run(t, judge.Python(t, "numpy", "pyarrow"), dir, foreignTables, dir)
	c := DefaultConfig()
	c.Outcomes = Table{
		File:    storage.File(filepath.Join(dir, "outcomes.parquet")),
		Columns: Columns{ID: "question", Expert: "model", Correct: "right", Fee: "paid"},
	}
	c.Features = []FeatureTable{{
		File: storage.File(filepath.Join(dir, "features.parquet")), ID: "question", List: "x", Columns: []string{"flag", "count"},
	}}
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got.Len() != 3000 || got.Dim != 4 || got.Actions.Len() != 2 {
		t.Fatalf("%d rows of %d features, %d actions", got.Len(), got.Dim, got.Actions.Len())
	}
	for n := range got.Len() {
		features := []float32{float32((n + 1) % 2), float32(n), float32(n) / 4, -float32(n)}
		loss := []float32{1, 1}
		for m := range loss {
			if (n+m)%3 == 0 {
				loss[m] = 0
			}
		}
		fee := float32(n%5) / 8
		if got.IDs[n] != fmt.Sprint(10*n) || !slices.Equal(got.Row(n), features) || !slices.Equal(got.Losses(n), loss) ||
			got.Fee[2*n] != fee || got.Fee[2*n+1] != fee {
			t.Fatalf("row %d is %s %v %v %v", n, got.IDs[n], got.Row(n), got.Losses(n), got.Fee[2*n:2*n+2])
		}
	}
}
