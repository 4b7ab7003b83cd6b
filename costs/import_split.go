package costs

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// splitRows takes the splits from their column, else draws them.
func (m *importer) splitRows(t *Tensor, keep []int) ([]Split, error) {
	rule := m.config.Split
	if m.splits == nil {
		labels := t.Labels
		if !rule.Stratify {
			labels = nil
		}
		return DrawSplits(t.Len(), labels, rule.Validation, rule.Test, rule.Seed), nil
	}
	splits := make([]Split, len(keep))
	for i, name := range m.splits.pick(keep) {
		var err error
		if splits[i], err = m.splitOf(name); err != nil {
			return nil, err
		}
	}
	return splits, nil
}

// splitOf reads a word of the split column.
func (m *importer) splitOf(name string) (Split, error) {
	if to, ok := m.config.Split.Names[name]; ok {
		name = to
	}
	s, err := ParseSplit(name)
	if err != nil {
		return 0, &DataError{Column: m.splits.name, Msg: fmt.Sprintf("%v; split.names can map it", err)}
	}
	return s, nil
}

// DrawSplits draws the splits of n instances: the share val goes to validation,
// the share test to test, the rest trains. With labels (n of them, or nil) the
// shares hold within every label as nearly as whole instances allow, and over
// all of them exactly, up to rounding. The draw depends on the arguments only.
func DrawSplits(n int, labels []string, val, test float64, seed uint64) []Split {
	groups := map[string][]int{}
	for i := range n {
		label := ""
		if labels != nil {
			label = labels[i]
		}
		groups[label] = append(groups[label], i)
	}
	splits := make([]Split, n)
	r := rand.New(rand.NewPCG(seed, 0x73706c6974)) // a stream of its own
	// What rounding leaves over is carried from label to label.
	seen, vals, tests := 0, 0, 0
	for _, label := range slices.Sorted(maps.Keys(groups)) {
		rows := groups[label]
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		seen += len(rows)
		wantVal := min(len(rows), int(math.Round(val*float64(seen)))-vals)
		wantTest := min(len(rows)-wantVal, int(math.Round(test*float64(seen)))-tests)
		vals, tests = vals+wantVal, tests+wantTest
		for i, row := range rows {
			switch {
			case i < wantVal:
				splits[row] = Val
			case i < wantVal+wantTest:
				splits[row] = Test
			}
		}
	}
	return splits
}
