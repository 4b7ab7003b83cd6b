package trained

import (
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/featurize/tabular"
)

// TestGroupEncoder reads rows: nested levels share what is disclosed, the rest is
// hidden, and the indicators say so.
func TestGroupEncoder(t *testing.T) {
	b := tableBuild(t, parttest.Frame(200, 1), parttest.Groups(), 0)
	e := b.Source.(part.EncodedSource).Encoder()
	batch, err := b.Source.Load(t.Context(), []int{5, 9, 14})
	if err != nil {
		t.Fatal(err)
	}
	for layout, hidden := range map[tabular.Layout]func(v float32) bool{
		tabular.LayoutDense: func(v float32) bool { return v == 0 },
		tabular.LayoutTree:  func(v float32) bool { return v != v },
	} {
		c, err := newGroupEncoder(expertSetup(b, "linear"), layout)
		if err != nil {
			t.Fatal(err)
		}
		ends, width := e.GroupEnds(layout), e.Width(layout)
		if c.Width() != width+2 {
			t.Fatalf("width %d, want %d columns and 2 indicators", c.Width(), width)
		}
		levels := [][]part.AdvicePayload{
			make([]part.AdvicePayload, 3), nil,
			part.ShowAll(batch, part.AdvicePayload{Groups: []bool{true, true, false}}),
			part.ShowAll(batch, part.AdvicePayload{Groups: []bool{true, true, true}}),
		}
		rows := make([]float32, 3*3*c.Width())
		if err := c.Encode(t.Context(), rows, batch, levels); err != nil {
			t.Fatal(err)
		}
		for n := range batch {
			whole := make([]float32, width)
			e.Encode(whole, batch[n].Values, layout)
			for l, shown := range [][2]float32{{0, 0}, {1, 0}, {1, 1}} {
				row := rows[(n*3+l)*c.Width() : (n*3+l+1)*c.Width()]
				for i, v := range row[:ends[l]] {
					if v != whole[i] && (v == v || whole[i] == whole[i]) {
						t.Errorf("%v, instance %d, level %d: column %d is %v, want %v", layout, n, l, i, v, whole[i])
					}
				}
				for i, v := range row[ends[l]:width] {
					if !hidden(v) {
						t.Errorf("%v, instance %d, level %d: column %d is %v, not hidden", layout, n, l, ends[l]+i, v)
					}
				}
				if [2]float32(row[width:]) != shown {
					t.Errorf("%v, instance %d, level %d: indicators %v, want %v", layout, n, l, row[width:], shown)
				}
			}
		}
	}
}
