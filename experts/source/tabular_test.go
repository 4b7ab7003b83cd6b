package source

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pipe/featurize/tabular"
	"pipe/internal/storage"
)

// twoColumns writes a table with two numbers in every row, and opens it as a source.
func twoColumns(t *testing.T, a, b []float32) *tabularSource {
	t.Helper()
	f := &tabular.Frame{File: "test.csv", Columns: []tabular.FrameColumn{{Name: "a", Numbers: a}, {Name: "b", Numbers: b}}}
	var train []int
	splits := make([]string, len(a))
	for i := range a {
		f.IDs, f.Labels, f.Lines = append(f.IDs, fmt.Sprintf("r%d", i)), append(f.Labels, int8(i%2)), append(f.Lines, int32(i+2))
		splits[i], train = "train", append(train, i)
	}
	s := &tabular.Schema{
		ID: "id", Label: "label", Labels: []string{"no", "yes"}, MaxLevels: 8, MinCount: 1,
		Groups: []tabular.Group{{Name: "base", Numeric: []string{"a", "b"}}},
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	e, err := tabular.Fit(f, s, train)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := tabular.WriteTable(t.Context(), storage.File(filepath.Join(dir, "t.parquet")), e, f, splits, nil); err != nil {
		t.Fatal(err)
	}
	src, err := newTabular(t.Context(), instancesIn(dir), map[string]any{"file": "t.parquet"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.(*tabularSource).Close() })
	return src.(*tabularSource)
}

// TestRowsInAnyOrder: whatever rows are asked for, each has its own values, however far the next one is.
func TestRowsInAnyOrder(t *testing.T) {
	const n = 3 * spanGap
	a, b := make([]float32, n), make([]float32, n)
	for i := range n {
		a[i], b[i] = float32(i), float32(-i)/4
	}
	src := twoColumns(t, a, b)
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 40).Draw(t, "rows")
		if rapid.Bool().Draw(t, "sorted") {
			slices.Sort(rows)
		}
		list, err := src.Load(t.Context(), rows)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			in := list[i]
			if in.ID != fmt.Sprintf("r%d", row) || in.Row != row || in.Line != row+1 || !slices.Equal(in.Values, []float32{a[row], b[row]}) {
				t.Fatalf("row %d is %+v", row, in)
			}
		}
	})
}

// TestTwinsHaveEqualValues: gaps are equal to each other, and so are the two zeros.
func TestTwinsHaveEqualValues(t *testing.T) {
	nan, minus := float32(math.NaN()), float32(math.Copysign(0, -1))
	src := twoColumns(t, []float32{1, nan, 0, 1, 2, nan, minus, 5}, []float32{3, 4, 5, 3, 3, 4, 5, 0})
	got, err := src.Twins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same := [][2]int{{0, 3}, {1, 5}, {2, 6}}
	for i := range got {
		for j := range i {
			if twins := slices.Contains(same, [2]int{j, i}); (got[i] == got[j]) != twins {
				t.Errorf("rows %d and %d have the numbers %d and %d", j, i, got[j], got[i])
			}
		}
	}
}
