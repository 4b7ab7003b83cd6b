package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/builder/part"
	"pipe/internal/judge"
)

// addColumns writes each CSV file again as Parquet, with columns of types that are not read. A list with a null among
// its values has a type that is read, and values that are not.
const addColumns = `
import sys, datetime, decimal, pyarrow as pa, pyarrow.csv, pyarrow.parquet as pq
for name in sys.argv[1:]:
    t = pa.csv.read_csv(name, convert_options=pa.csv.ConvertOptions(strings_can_be_null=False))
    n = t.num_rows
    extra = {
        "day": pa.array([datetime.date(2024, 1, 1)] * n, pa.date32()),
        "moment": pa.array([datetime.datetime(2024, 1, 1)] * n, pa.timestamp("us")),
        "clock": pa.array([datetime.time(1)] * n, pa.time64("us")),
        "amount": pa.array([decimal.Decimal("1.50")] * n, pa.decimal128(9, 2)),
        "both": pa.array([{"a": 1, "b": 2.5}] * n),
        "pairs": pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int32())),
        "deep": pa.array([[[1.0], [2.0]]] * n),
        "holes": pa.array([[1.0, None]] * n),
    }
    for k, v in extra.items():
        t = t.append_column(k, v)
    pq.write_table(t, name[:-4] + ".parquet")
`

var unreadable = []string{"day", "moment", "clock", "amount", "both", "pairs", "deep"}

// TestUnusedColumnsOfAnyType: a table and its copy with columns that cannot be read give the same rows, as long as
// the configuration does not name these columns.
func TestUnusedColumnsOfAnyType(t *testing.T) {
	py := judge.Python(t, "pyarrow")
	w := newWorld(t, 12)
	w.write(t, "extra.csv", "id,u\n"+strings.Join(listOf(12, func(i int) string { return fmt.Sprintf("r%d,%d\n", i, i*i) }), ""))
	use := func(ending string) *costs.Tensor {
		w.cfg.Instances.Settings["file"] = "instances" + ending
		for _, e := range w.cfg.Experts {
			e.Settings["file"] = "answers" + ending
		}
		w.cfg.Features = append(w.cfg.Features[:1:1], part.Part{Kind: "file", Settings: map[string]any{"file": "extra" + ending, "columns": []string{"u"}}})
		if err := errors.Join(os.RemoveAll(w.out()), os.RemoveAll(w.out()+".work")); err != nil {
			t.Fatal(err)
		}
		_, tensor := w.mustRun(t)
		return tensor
	}
	want := use(".csv")
	judge.Run(t, py, w.dir, addColumns, "instances.csv", "answers.csv", "extra.csv")
	got := use(".parquet")
	if !slices.Equal(got.IDs, want.IDs) || !slices.Equal(got.Features, want.Features) || fmt.Sprint(got.Loss) != fmt.Sprint(want.Loss) || got.Dim != 3 {
		t.Errorf("%v with %v, want %v with %v", got.IDs, got.Features, want.IDs, want.Features)
	}

	claims := claimFile{File: "instances.parquet", Claim: "id", Label: "label", Sentence: "label"}
	list, _, err := claims.read(t.Context(), (&part.Build{Dir: w.dir, Labels: []string{"cat", "dog", "owl"}, Inputs: part.Inputs{}}).Setup("part"), "", nil)
	if err != nil || len(list) != 12 {
		t.Errorf("%d claims, %v", len(list), err)
	}

	for _, column := range append(unreadable, "holes") {
		for name, feature := range map[string]part.Part{
			"instances": {Kind: "columns", Settings: map[string]any{"columns": []string{column}}},
			"extra":     {Kind: "file", Settings: map[string]any{"file": "extra.parquet", "columns": []string{column}}},
		} {
			w.cfg.Features = []part.Part{feature}
			_, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: w.out(), Dir: w.dir, Restart: true})
			var bad *costs.DataError
			if !errors.As(err, &bad) || bad.File != filepath.Join(w.dir, name+".parquet") || bad.Column != column {
				t.Errorf("%s of %s: %v", column, name, err)
			}
		}
	}
}

func listOf[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}
