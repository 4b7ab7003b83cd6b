package tabular

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/internal/realdata"
	"pipe/internal/storage"
)

func realFrame(t testing.TB, file string) (*Frame, LoadReport) {
	t.Helper()
	dir := realdata.Folder(t, "ieee-cis")
	f, report, err := Load(t.Context(), fraudSchema(t), Files{
		Primary: storage.File(filepath.Join(dir, file)), Joined: storage.File(filepath.Join(dir, "train_identity.csv")),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f, report
}

// The sample with all columns: none is absent, ignored or without a value.
func TestRealColumnsAreAllAssigned(t *testing.T) {
	f, report := realFrame(t, "train_transaction_394cols_1500rows.csv")
	want := LoadReport{Rows: 1500, Labels: map[string]int{"0": 1469, "1": 31}, Joined: 4677, Matched: 348, Unmatched: 4329}
	if d := cmp.Diff(want, report); d != "" || len(f.Columns) != 394-2+40 {
		t.Errorf("%d columns: %s", len(f.Columns), d)
	}
	e := mustFit(t, f, fraudSchema(t), upTo(1000))
	checkRealLayouts(t, f, e)
}

// The sample of twelve thousand rows has none of the V columns.
func TestRealRowsWithoutV(t *testing.T) {
	f, report := realFrame(t, "train_transaction_55cols_12000rows.csv")
	if len(report.Absent) != 339 || report.Absent[0] != "V1" || report.Rows != 12000 || report.Labels["1"] != 403 ||
		report.Matched != 3182 || report.Unmatched != 1495 || len(report.Empty)+len(report.Ignored) != 0 {
		t.Errorf("report is %d absent, %+v", len(report.Absent), report.Labels)
	}
	e := mustFit(t, f, fraudSchema(t), upTo(9000))
	if got := len(e.Columns()); got != 432-339 {
		t.Errorf("%d columns", got)
	}
	checkRealLayouts(t, f, e)
}

// checkRealLayouts looks at every row in both layouts.
func checkRealLayouts(t *testing.T, f *Frame, e *Encoder) {
	t.Helper()
	values := make([]float32, len(e.Columns()))
	dense, tree := make([]float32, e.Width(LayoutDense)), make([]float32, e.Width(LayoutTree))
	ones := 0
	for row := range f.Len() {
		e.Values(values, f, row)
		e.Encode(dense, values, LayoutDense)
		e.Encode(tree, values, LayoutTree)
		for i, v := range dense {
			if !(math.Abs(float64(v)) <= ClipDeviations) {
				t.Fatalf("row %d: %s is %v", row, e.Names(LayoutDense)[i], v)
			}
			if v == 1 {
				ones++
			}
		}
		for i, v := range tree {
			if math.IsInf(float64(v), 0) {
				t.Fatalf("row %d: %s is %v", row, e.Names(LayoutTree)[i], v)
			}
		}
		if tree[1] < 0 || tree[1] > 6 || tree[0] < 0 || tree[0] > 23 {
			t.Fatalf("row %d is at hour %v of day %v", row, tree[0], tree[1])
		}
	}
	if ones < 10*f.Len() {
		t.Errorf("only %d categories and gaps in %d rows", ones, f.Len())
	}
	if n := len(e.Names(LayoutDense)); n != e.Width(LayoutDense) || len(e.GroupEnds(LayoutTree)) != 5 {
		t.Errorf("%d names for %d elements", n, e.Width(LayoutDense))
	}
}
