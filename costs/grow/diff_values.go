package grow

import (
	"maps"
	"math"
	"slices"
	"strings"

	"pipe/costs"
)

// ColumnChange is what differs in one column, over the rows that two tensors
// share.
type ColumnChange struct {
	Column  string        `json:"column"`
	Rows    int           `json:"rows"`              // with a value that differs
	Values  int           `json:"values"`            // that differ
	Unknown int           `json:"unknown,omitempty"` // of these, values that only one of the two knows
	Largest *ValueChange  `json:"largest,omitempty"` // difference of two numbers, or of two times
	First   []ValueChange `json:"first"`
}

// ValueChange is a value that differs.
type ValueChange struct {
	ID         string   `json:"id"`
	Column     string   `json:"column"` // with the position in a list
	Pair       string   `json:"pair,omitempty"`
	A          string   `json:"a"`
	B          string   `json:"b"`
	Difference *float64 `json:"difference,omitempty"` // absolute, of numbers; of times in seconds
}

// PairChange compares the mean task loss of a pair in two tensors, over the rows
// that both have and on which both know the loss. A pair that one of the two
// does not have is summarised over the rows on which the other one knows it.
type PairChange struct {
	Pair   string   `json:"pair"`
	Rows   int      `json:"rows"` // over which the means are taken
	A      *float64 `json:"a,omitempty"`
	B      *float64 `json:"b,omitempty"`
	Change *float64 `json:"change,omitempty"` // B - A
}

// valueCount compares rows and counts what differs.
type valueCount struct {
	pairs   []pairSum
	changes map[string]*ColumnChange
	last    map[string]int // per column, the last row with a change
	row     int
	id      string // of the row at hand
	pair    string // at hand
	found   func(cell)
}

// pairSum adds up the losses of a pair.
type pairSum struct {
	name string
	p, q int // its number in a and in b, -1 where it does not exist
	rows int
	a, b float64
}

func newValueCount(a, b *costs.Actions) *valueCount {
	c := &valueCount{changes: map[string]*ColumnChange{}, last: map[string]int{}}
	c.found = c.note
	names := map[[2]string]int{}
	for q, available := range b.Mask() {
		if j, k := b.Pair(q); available {
			names[[2]string{b.Experts[j].Name, b.Advice[k].Name}] = q
		}
	}
	for p, available := range a.Mask() {
		if !available {
			continue
		}
		j, k := a.Pair(p)
		key := [2]string{a.Experts[j].Name, a.Advice[k].Name}
		q, both := names[key]
		if !both {
			q = -1
		}
		delete(names, key)
		c.pairs = append(c.pairs, pairSum{name: a.Name(p), p: p, q: q})
	}
	for _, q := range slices.Sorted(maps.Values(names)) {
		c.pairs = append(c.pairs, pairSum{name: b.Name(q), p: -1, q: q})
	}
	return c
}

// add compares row i of a with row j of b.
func (c *valueCount) add(a *costs.Tensor, i int, b *costs.Tensor, j int) {
	c.row++
	c.id, c.pair = a.IDs[i], ""
	compareInstance(a, i, b, j, c.found)
	x, y := a.Losses(i), b.Losses(j)
	for n := range c.pairs {
		p := &c.pairs[n]
		if p.p >= 0 && p.q >= 0 {
			c.pair = p.name
			comparePair(a, i, p.p, b, j, p.q, c.found)
		}
		p.add(x, y)
	}
}

func (p *pairSum) add(x, y []float32) {
	a, b := float64(0), float64(0)
	if p.p >= 0 {
		a = float64(x[p.p])
	}
	if p.q >= 0 {
		b = float64(y[p.q])
	}
	if !math.IsNaN(a) && !math.IsNaN(b) {
		p.rows, p.a, p.b = p.rows+1, p.a+a, p.b+b
	}
}

// shownValues is how many values a report lists per column.
const shownValues = 5

func (c *valueCount) note(v cell) {
	change := c.changes[v.column]
	if change == nil {
		change = &ColumnChange{Column: v.column}
		c.changes[v.column] = change
	}
	if c.last[v.column] != c.row {
		c.last[v.column] = c.row
		change.Rows++
	}
	change.Values++
	if math.IsNaN(v.difference) {
		change.Unknown++
	}
	if len(change.First) < shownValues {
		change.First = append(change.First, v.change(c.id, c.pair))
	}
	if v.difference > 0 && (change.Largest == nil || v.difference > *change.Largest.Difference) {
		largest := v.change(c.id, c.pair)
		change.Largest = &largest
	}
}

func (c *cell) change(id, pair string) ValueChange {
	a, b := c.values()
	v := ValueChange{ID: id, Column: c.name(), Pair: pair, A: a, B: b}
	if c.difference > 0 {
		v.Difference = &c.difference
	}
	return v
}

// columns returns the columns with differences, in the order of the contract.
func (c *valueCount) columns() []ColumnChange {
	var list []ColumnChange
	names := []string{"split", "group", "time", "label", "features", "loss", "fee"}
	for q := range costs.Quantities {
		names = append(names, q.String())
	}
	names = append(names, propensity, "prediction")
	for _, name := range slices.Sorted(maps.Keys(c.changes)) {
		if strings.HasPrefix(name, costs.FactPrefix) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if change := c.changes[name]; change != nil {
			list = append(list, *change)
		}
	}
	return list
}

func (c *valueCount) means() []PairChange {
	list := []PairChange{}
	for _, p := range c.pairs {
		change := PairChange{Pair: p.name, Rows: p.rows}
		a, b := p.a/float64(p.rows), p.b/float64(p.rows)
		difference := b - a
		if p.rows > 0 && p.p >= 0 {
			change.A = &a
		}
		if p.rows > 0 && p.q >= 0 {
			change.B = &b
		}
		if change.A != nil && change.B != nil {
			change.Change = &difference
		}
		list = append(list, change)
	}
	return list
}
