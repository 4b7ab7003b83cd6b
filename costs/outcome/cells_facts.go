package outcome

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// factCells are the values of a fact, of all pairs. Numbers are texts too until all have been read.
type factCells struct {
	name   string
	kind   string // "" where it depends on the values
	values *textfile.Names
}

// factColumn is the column of a fact of a pair; its keys are nil if the pair has none.
type factColumn struct {
	name string
	keys *keys
}

// wantFacts are the columns of facts of a pair, one for each fact of the outcomes.
func (o *outcomes) wantFacts(set *columnSet, of Observed) (columns []factColumn) {
	for _, f := range o.facts {
		columns = append(columns, factColumn{of[f.name], set.wantKeys(of[f.name], f.values)})
	}
	return columns
}

// putFacts keeps the facts of an outcome. One that is missing or empty is not known.
func (c *outcomeColumn) putFacts(o *outcomes, n int, columns []factColumn, row tablefile.Row) error {
	for i, column := range columns {
		if column.keys == nil || row.Missing(column.keys.at) || row.Text(column.keys.at) == "" {
			continue
		}
		f, before := &o.facts[i], o.facts[i].values.Len()
		number, err := column.keys.add(row)
		if err != nil {
			return err
		}
		if number == before && f.kind == factNumbers { // a new one
			if _, err := factNumber(f.values.List()[number]); err != nil {
				return &costs.DataError{Row: row.Place(), Column: column.name, Err: fmt.Errorf("%w, but the fact %s has numbers", err, f.name)}
			}
		}
		if err := set(&c.facts[i], n, int32(number)); err != nil {
			return err
		}
	}
	return nil
}

// factNumber is the number that a text stands for: true is 1, false is 0, and NaN is not known.
func factNumber(text string) (float32, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	case "nan":
		return float32(math.NaN()), nil
	}
	v, err := textfile.ParseFloat32(text)
	if err != nil || math.IsInf(float64(v), 0) {
		return 0, fmt.Errorf("%s is no number that is finite in float32", textfile.Quoted(text))
	}
	return v, nil
}

// resolve returns the fact without data, and for the number of every value what the data have for it. Values that are
// all numbers are numbers, unless the fact has texts.
func (f *factCells) resolve() (fact costs.Fact, data []float32) {
	fact = costs.Fact{Name: f.name}
	texts := f.values.List()
	for _, text := range texts {
		v, err := factNumber(text)
		if f.kind == factTexts || err != nil {
			return f.category()
		}
		data = append(data, v)
	}
	if f.kind == factTexts {
		fact.Values = []string{}
	}
	return fact, data
}

func (f *factCells) category() (fact costs.Fact, data []float32) {
	values := slices.Clone(f.values.List())
	slices.Sort(values)
	for _, text := range f.values.List() {
		at, _ := slices.BinarySearch(values, text)
		data = append(data, float32(at))
	}
	return costs.Fact{Name: f.name, Values: values}, data
}

// fillFacts gives the tensor of the kept instances its facts.
func (o *outcomes) fillFacts(t *costs.Tensor, order []int, keep []int) error {
	if err := o.held.AddCells(len(keep), len(order)*len(o.facts), bytesOfValue); err != nil {
		return err
	}
	for i := range o.facts {
		fact, data := o.facts[i].resolve()
		filled := costs.NewFacts(fact, len(keep)*len(order))
		filled.Values = fact.Values
		for a := range order {
			c := o.number(order[a])
			if c == nil {
				continue
			}
			for row, n := range keep {
				if v := c.facts[i].get(n); v >= 0 {
					filled.Data[row*len(order)+a] = data[v]
				}
			}
		}
		t.Facts = append(t.Facts, filled)
	}
	return nil
}
