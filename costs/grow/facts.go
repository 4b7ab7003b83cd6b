package grow

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/textfile"
)

// factsOf are the facts of all inputs, each once, sorted by name.
func factsOf(inputs ...*input) (all []costs.Fact) {
	for _, in := range inputs {
		for _, f := range in.columns.Facts {
			if place, found := findFact(all, f.Name); !found {
				all = slices.Insert(all, place, f)
			}
		}
	}
	return all
}

// findFact searches facts that are sorted by name.
func findFact(all []costs.Fact, name string) (place int, found bool) {
	return slices.BinarySearchFunc(all, name, func(f costs.Fact, name string) int { return cmp.Compare(f.Name, name) })
}

// settleFacts gives all inputs the same facts, without those that are dropped. A fact that a file lacks is not known of
// its rows.
func (m *merger) settleFacts() error {
	all := slices.DeleteFunc(factsOf(m.inputs...), func(f costs.Fact) bool { return slices.Contains(m.options.Drop, f.Column()) })
	for _, f := range all {
		var first *input
		for _, in := range m.inputs {
			switch place, found := findFact(in.columns.Facts, f.Name); {
			case !found:
				m.report.NoUsage = append(m.report.NoUsage, f.Column()+" of "+in.name)
			case first == nil:
				first = in
			case in.columns.Facts[place].Kind() != f.Kind():
				return &costs.DataError{
					File: in.path.String(), Column: f.Column(),
					Msg: fmt.Sprintf("has %s, but %s in %q; pipe merge --drop %s leaves it out of the result", in.columns.Facts[place].Kind(), f.Kind(), first.path, f.Column()),
				}
			}
		}
	}
	for _, in := range m.inputs {
		in.columns.Facts = all
	}
	return nil
}

// shapeFacts gives rows that were read the facts of the input.
func (in *input) shapeFacts(t *costs.Tensor) {
	have := *t
	t.Facts = nil
	for _, f := range in.columns.Facts {
		if own := have.Fact(f.Name); own != nil {
			t.Facts = append(t.Facts, *own)
			continue
		}
		t.Facts = append(t.Facts, costs.Facts{Fact: f, Data: unknown[float32](len(t.Loss))})
	}
}

// factChanges are the facts that only one of two inputs has, or that are of another kind in the other.
func factChanges(a, b *input) (list []Change) {
	kind := func(in *input, name string) string {
		if place, found := findFact(in.columns.Facts, name); found {
			return in.columns.Facts[place].Kind()
		}
		return ""
	}
	for _, f := range factsOf(a, b) {
		if x, y := kind(a, f.Name), kind(b, f.Name); x != y {
			list = append(list, Change{f.Column(), x, y})
		}
	}
	return list
}

// compareFacts is comparePair for the facts of cell x of a and cell y of b.
func compareFacts(found func(cell), pair int, a *costs.Tensor, x int, b *costs.Tensor, y int) {
	for i := range a.Facts {
		f := &a.Facts[i]
		g := b.Fact(f.Name)
		switch {
		case g == nil || f.Kind() != g.Kind():
		case !f.Category():
			numbers(found, f.Column(), pair, f.Data[x], g.Data[y])
		case f.Text(x) != g.Text(y):
			c := cell{column: f.Column(), at: pair, text: [2]string{quotedOrNull(f.Text(x)), quotedOrNull(g.Text(y))}}
			if f.Text(x) == "" || g.Text(y) == "" {
				c.difference = math.NaN()
			}
			found(c)
		}
	}
}

func quotedOrNull(text string) string {
	if text == "" {
		return "null"
	}
	return textfile.Quoted(text)
}

func (h *rowHash) facts(t *costs.Tensor, n int) {
	a := t.Actions.Len()
	for i := range t.Facts {
		f := &t.Facts[i]
		if !f.Category() {
			h.numbers(f.Data, n, a)
			continue
		}
		for x := n * a; x < (n+1)*a; x++ {
			h.buf = binary.LittleEndian.AppendUint64(h.buf, uint64(len(f.Text(x))))
			h.buf = append(h.buf, f.Text(x)...)
		}
	}
}

// spreadFacts gives wide rows the facts of rows of the first file, and returns builders for those of the other files.
func (m *merger) spreadFacts(wide *costs.Tensor) (builders []costs.FactBuilder, err error) {
	narrow, width, pairs := wide.Facts, m.layout.actions.Len(), m.layout.at[0]
	wide.Facts = make([]costs.Facts, len(narrow))
	for i, f := range narrow {
		wide.Facts[i] = costs.NewFacts(f.Fact, wide.Len()*width)
		builders = append(builders, costs.NewFactBuilder(&wide.Facts[i]))
		for y := range f.Data {
			if err := builders[i].Copy(y/len(pairs)*width+pairs[y%len(pairs)], &f, y); err != nil {
				return nil, err
			}
		}
	}
	return builders, nil
}
