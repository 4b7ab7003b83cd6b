package costs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/column"
	"pipe/internal/parquetfile"
)

// factLeaf is the column of a fact in a file.
type factLeaf struct {
	Fact // its values are not known yet
	leaf *column.Leaf
}

// findFacts finds the columns of facts. Text is a category, integers and booleans are numbers.
func findFacts(root *parquetfile.Column) (facts []factLeaf, err error) {
	for _, top := range root.Children {
		name, ok := strings.CutPrefix(top.Name, FactPrefix)
		if !ok {
			continue
		}
		leaf, err := findFact(root, name)
		if err != nil {
			return nil, &DataError{Column: top.Name, Err: err}
		}
		f := factLeaf{Fact{Name: name}, leaf}
		if leaf.Kind == parquetfile.ByteArray {
			f.Values = []string{}
		}
		facts = append(facts, f)
	}
	slices.SortFunc(facts, func(a, b factLeaf) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(facts); i++ {
		if facts[i].Name == facts[i-1].Name {
			return nil, &DataError{Column: facts[i].Column(), Msg: "is there twice"}
		}
	}
	return facts, nil
}

func findFact(root *parquetfile.Column, name string) (*column.Leaf, error) {
	if err := CheckFactName(name); err != nil {
		return nil, err
	}
	return column.Find(root, FactPrefix+name, true, parquetfile.ByteArray, parquetfile.Float, parquetfile.Double, parquetfile.Int32,
		parquetfile.Int64, parquetfile.Boolean)
}

// sameFacts is an error if two parts do not have the same facts.
func sameFacts(a, b *part) error {
	have := func(p *part) (kinds []Fact) {
		for _, f := range p.cols.facts {
			kinds = append(kinds, f.Fact)
		}
		return kinds
	}
	one, other := factNames(have(a)), factNames(have(b))
	if one != other {
		return &DataError{File: b.path, Msg: fmt.Sprintf("has the facts %s; %q has %s", other, a.path, one)}
	}
	return nil
}

// factNames lists facts for an error.
func factNames(facts []Fact) string {
	if len(facts) == 0 {
		return "none"
	}
	var names []string
	for _, f := range facts {
		names = append(names, f.Name+" ("+f.Kind()+")")
	}
	return strings.Join(names, ", ")
}

// fact reads fact number i; every element may be null. The values are those that occur in the rows read.
func (g *groupRead) fact(i int, f factLeaf, width int) columnReader {
	c := g.cursor(f.leaf, width)
	c.absent = slices.Repeat([]bool{true}, width)
	return columnReader{c, func(t *Tensor) error {
		done := c.passed()
		into := &t.Facts[i]
		if f.Category() {
			return c.fillCategory(into)
		}
		if err := c.fillNumbers(into.Data); err != nil {
			return err
		}
		return shifted(checkFact(*into, width), done)
	}}
}

// fillNumbers is fillFloats for columns that may also hold integers and booleans.
func (c *cursor) fillNumbers(dst []float32) error {
	return c.fill(len(dst), func(at int, run column.Run) error {
		switch c.leaf.Kind {
		case parquetfile.Float, parquetfile.Double:
			run.CopyFloats(dst[at:])
			return nil
		}
		if run.State != column.Present {
			run.CopyFloats(dst[at:])
			return nil
		}
		for i, v := range run.Ints() {
			dst[at+i] = float32(v)
		}
		return nil
	})
}

// fillCategory reads texts or nulls into the cells of a fact without values.
func (c *cursor) fillCategory(f *Facts) error {
	b := NewFactBuilder(f)
	err := c.fill(len(f.Data), func(at int, run column.Run) error {
		if run.State != column.Present {
			run.CopyFloats(f.Data[at:])
			return nil
		}
		for i := range run.Len {
			if err := b.SetText(at+i, run.Text(i)); err != nil {
				return c.Error(run, i, err)
			}
		}
		return nil
	})
	b.Sort()
	return err
}

// uniteWindows takes the values of facts from windows that cover the tensor and were read one by one.
func (t *Tensor) uniteWindows(windows []*Tensor) error {
	for i := range t.Facts {
		var all []*Facts
		for _, w := range windows {
			all = append(all, &w.Facts[i])
		}
		UniteFacts(all...)
		t.Facts[i].Values = all[0].Values
		if len(t.Facts[i].Values) > maxValues {
			return &DataError{Column: t.Facts[i].Column(), Err: errTooManyValues(len(t.Facts[i].Values))}
		}
	}
	return nil
}

// pendingFact holds a fact of the rows that a Writer has not written yet. Texts are empty where they are not known.
type pendingFact struct {
	numbers []float32
	texts   []string
}

func (p *pendingFact) extend(f Facts) {
	if !f.Category() {
		p.numbers = append(p.numbers, f.Data...)
		return
	}
	for i := range f.Data {
		p.texts = append(p.texts, f.Text(i))
	}
}

// flush writes the column and drops the rows.
func (p *pendingFact) flush(f Fact, g *groupWrite, width int) {
	if f.Category() {
		g.textsOrNull(p.texts, width)
	} else {
		valuesOrNull(g, p.numbers, width, parquet.FloatValue)
	}
	p.numbers, p.texts = p.numbers[:0], p.texts[:0]
}
