package tabular

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// A raw row gives the values that it has in a file.
func TestParseRowEqualsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := smallSchema()
		rows := rapid.IntRange(8, 40).Draw(t, "rows")
		primary, joined := randomTable(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)), rows, false)
		f := loadText(t, primary, joined)
		e, err := Fit(f, s, upTo(rows/2))
		if err != nil {
			t.Fatal(err)
		}
		want, got := make([]float32, len(e.Columns())), make([]float32, len(e.Columns()))
		for row := range rows {
			e.Values(want, f, row)
			cells := cellsOf(primary, joined, f.IDs[row])
			if err := e.ParseRow(got, func(c string) (string, bool) { v, ok := cells[c]; return v, ok }); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
				t.Fatalf("row %d: %s", row, d)
			}
		}
	})
}

// cellsOf finds the cells of an id in texts without quotes.
func cellsOf(primary, joined, id string) map[string]string {
	cells := map[string]string{}
	for _, text := range []string{primary, joined} {
		header, rows, _ := strings.Cut(text, "\n")
		names := strings.Split(header, ",")
		for row := range strings.SplitSeq(rows, "\n") {
			if fields := strings.Split(row, ","); fields[0] == id {
				for i, v := range fields {
					cells[names[i]] = v
				}
			}
		}
	}
	return cells
}

func TestParseRow(t *testing.T) {
	s := smallSchema()
	e := mustFit(t, mustLoad(t, s, fitPrimary, fitJoined), s, upTo(6))
	values := make([]float32, 8)
	row := func(cells map[string]string) error {
		return e.ParseRow(values, func(c string) (string, bool) { v, ok := cells[c]; return v, ok })
	}
	if err := row(map[string]string{"n-1": "5", "place": "490.00", "kind": "never", "when": "-3600"}); err != nil {
		t.Fatal(err)
	}
	want := []float32{167, nan32, 5, nan32, CodeUnseen, nan32, 2, nan32}
	if d := cmp.Diff(want, values, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
	for column, text := range map[string]string{"far": "NaN", "amount": "1e300", "when": "x"} {
		if data := dataError(t, row(map[string]string{column: text})); data.Column != column {
			t.Errorf("error is %v", data)
		}
	}
}

// FuzzParseRow: any text gives values that can be encoded, or a *DataError.
func FuzzParseRow(f *testing.F) {
	s := smallSchema()
	e := mustFit(f, mustLoad(f, s, fitPrimary, fitJoined), s, upTo(6))
	f.Add("1.5", "x", "3600")
	f.Add("1e38", "490.0", "-1e300")
	f.Add("", "", "1e15")
	f.Fuzz(func(t *testing.T, number, level, when string) {
		cells := map[string]string{"amount": number, "far": number, "kind": level, "place": level, "when": when}
		values := make([]float32, len(e.Columns()))
		if err := e.ParseRow(values, func(c string) (string, bool) { v, ok := cells[c]; return v, ok }); err != nil {
			dataError(t, err)
			return
		}
		dense := make([]float32, e.Width(LayoutDense))
		e.Encode(dense, values, LayoutDense)
		for i, v := range dense {
			if !(v >= -ClipDeviations && v <= ClipDeviations) {
				t.Fatalf("%s is %v", e.Names(LayoutDense)[i], v)
			}
		}
	})
}

// A frame without a column of the encoder has gaps there; one whose column is
// of another kind as well.
func TestValuesOfAnotherFrame(t *testing.T) {
	s := smallSchema()
	e := mustFit(t, mustLoad(t, s, fitPrimary, fitJoined), s, upTo(6))
	other := mustLoad(t, s, "key,when,n_1,far\nz,3600,4,\n", "")
	values := make([]float32, 8)
	e.Values(values, other, 0)
	want := []float32{1, nan32, 4, nan32, nan32, nan32, nan32, nan32}
	if d := cmp.Diff(want, values, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}
