package play

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models/cascade"
)

// Column is where a table has a fact of a cascade.
type Column struct {
	data   []float32 // N x A
	values []float32 // of a category: what an index into the values of the table is for the cascade; nil: a number
}

// at is the fact in a cell as the cascade sees it, NaN where it is not known.
func (c Column) at(cell int) float32 {
	v := c.data[cell]
	if c.values == nil || v != v {
		return v
	}
	return c.values[int(v)]
}

// Columns finds the facts of a cascade in a table, in the cascade's order. A table that lacks one is a *costs.DataError.
func Columns(info *cascade.Info, facts []costs.Facts) ([]Column, error) {
	var missing []string
	out := make([]Column, 0, len(info.Facts))
	for _, want := range info.Facts {
		i := slices.IndexFunc(facts, func(f costs.Facts) bool { return f.Name == want.Name })
		if i < 0 {
			missing = append(missing, want.Name)
			continue
		}
		have := facts[i]
		if have.Category() != want.Category() {
			return nil, &costs.DataError{Column: "observed_" + want.Name, Msg: fmt.Sprintf("has %s, the cascade looks at %s", kindOf(have.Fact), kindOf(want))}
		}
		out = append(out, Column{have.Data, renumbered(have.Values, want.Values)})
	}
	if missing == nil {
		return out, nil
	}
	return nil, &costs.DataError{Err: &MissingError{missing, len(facts) == 0}}
}

func kindOf(f costs.Fact) string {
	if f.Category() {
		return "categories"
	}
	return "numbers"
}

// renumbered are the indices into to of the values of from. Those that it lacks come after it: a cascade has not learned from them, but
// two answers can agree on one.
func renumbered(from, to []string) []float32 {
	if from == nil {
		return nil
	}
	out := make([]float32, len(from))
	for i, v := range from {
		k, found := slices.BinarySearch(to, v)
		if out[i] = float32(k); !found {
			out[i] = float32(len(to) + i)
		}
	}
	return out
}

// MissingError says what a table lacks that a cascade looks at.
type MissingError struct {
	Facts []string // that are missing
	All   bool     // the table has no fact at all
}

// Error names the missing columns.
func (e *MissingError) Error() string {
	var names []string
	for _, f := range e.Facts {
		names = append(names, "observed_"+f)
	}
	if e.All {
		return fmt.Sprintf("the table does not say what can be seen of answers, and the cascade looks at them: %s", strings.Join(names, ", "))
	}
	return fmt.Sprintf("the cascade looks at what this table does not have: %s", strings.Join(names, ", "))
}

// Hint says where these columns come from.
func (e *MissingError) Hint() string {
	return "pipe costs writes such columns for the experts that it runs, and pipe import takes them from a log (observed: in its configuration; docs/cascades.md)"
}
