package costs

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fact is something that can be seen of an answer without knowing the true one: a label, a confidence, a length. It is a
// number, or one of several values.
type Fact struct {
	Name   string   `json:"name"`            // of lower-case letters, digits and underscores
	Values []string `json:"values,omitzero"` // of a fact that is one of several values: these, sorted and unique, maybe none; nil: a number
}

// Category reports whether the fact is one of several values, and not a number.
func (f Fact) Category() bool { return f.Values != nil }

// Facts are a fact of the answer of every pair on every instance. A policy may look at it after it executed the pair, and
// not before.
type Facts struct {
	Fact
	Data []float32 // N x A: the number, or the index into Values; NaN where it is not known
}

// maxValues is how many values a category may have. Indices are kept as float32, which is exact up to this number.
const maxValues = 1 << 24

// FactPrefix begins the names of the columns of facts.
const FactPrefix = "observed_"

// Column returns the name of the column.
func (f Fact) Column() string { return FactPrefix + f.Name }

// Kind says what the values are: "numbers" or "texts".
func (f Fact) Kind() string {
	if f.Category() {
		return "texts"
	}
	return "numbers"
}

// CheckFactName says what is wrong with the name of a fact.
func CheckFactName(name string) error {
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return fmt.Errorf("%q is no name of a fact: it needs lower-case letters, digits and underscores, and nothing else", name)
	}
	return nil
}

// checkFacts checks names, values and sizes.
func (t *Tensor) checkFacts() error {
	for i, f := range t.Facts {
		err := f.Validate()
		switch {
		case err != nil:
		case i > 0 && f.Name == t.Facts[i-1].Name:
			err = errors.New("is there twice")
		case i > 0 && f.Name < t.Facts[i-1].Name:
			err = fmt.Errorf("comes after %q, but facts are sorted by name", t.Facts[i-1].Name)
		case len(f.Data) != t.Len()*t.Actions.Len():
			err = fmt.Errorf("has %d values for %d rows, expected %d", len(f.Data), t.Len(), t.Len()*t.Actions.Len())
		}
		if err != nil {
			return &DataError{Column: f.Column(), Err: err}
		}
		if err := checkFact(f, t.Actions.Len()); err != nil {
			return err
		}
	}
	return nil
}

// Validate says what is wrong with the name, or with the values of a category.
func (f Fact) Validate() error {
	if err := CheckFactName(f.Name); err != nil {
		return err
	}
	if len(f.Values) > maxValues {
		return errTooManyValues(len(f.Values))
	}
	for i, v := range f.Values {
		if err := checkFactValue(v); err != nil {
			return err
		}
		if i > 0 && v <= f.Values[i-1] {
			return fmt.Errorf("the values are not sorted and unique: %q comes after %q", v, f.Values[i-1])
		}
	}
	return nil
}

func errTooManyValues(n int) error {
	return fmt.Errorf("has %d different values, more than %d", n, maxValues)
}

// checkFactValue says what is wrong with a value of a category.
func checkFactValue(v string) error {
	switch {
	case v == "":
		return errors.New("is empty; it must be null where it is not known")
	case !utf8.ValidString(v):
		return errNotUTF8(v)
	}
	return nil
}

// checkFact returns a *DataError whose row counts within the data.
func checkFact(f Facts, pairs int) error {
	for i, v := range f.Data {
		switch {
		case v != v:
		case !isFinite(v):
			return cellError(f.Column(), i, pairs, fmt.Sprintf("is %v; it must be finite, or null where it is not known", v))
		case f.Category() && (v < 0 || int(v) >= len(f.Values) || v != float32(int(v))):
			return cellError(f.Column(), i, pairs, fmt.Sprintf("is %v, which is no index into %d values", v, len(f.Values)))
		}
	}
	return nil
}

// Fact returns the fact of a name, nil if the tensor has none.
func (t *Tensor) Fact(name string) *Facts {
	for i := range t.Facts {
		if t.Facts[i].Name == name {
			return &t.Facts[i]
		}
	}
	return nil
}

// eachFact applies f to the data of every fact.
func (t *Tensor) eachFact(f func(data []float32) []float32) (out []Facts) {
	for _, have := range t.Facts {
		out = append(out, Facts{Fact: have.Fact, Data: f(have.Data)})
	}
	return out
}

// bareFacts are the facts without their values.
func bareFacts(facts []Facts) (bare []Fact) {
	for _, f := range facts {
		bare = append(bare, f.bare())
	}
	return bare
}

func (f Fact) bare() Fact {
	if f.Category() {
		f.Values = []string{}
	}
	return f
}

// Text returns the value of cell i of a category, "" where it is not known.
func (f *Facts) Text(i int) string {
	if v := f.Data[i]; v == v {
		return f.Values[int(v)]
	}
	return ""
}

// NewFacts returns a fact with a name and the kind of f whose cells are not known.
func NewFacts(f Fact, cells int) Facts {
	return Facts{Fact: f.bare(), Data: slices.Repeat([]float32{float32(math.NaN())}, cells)}
}

// FactBuilder sets the cells of a fact one by one.
type FactBuilder struct {
	*Facts // its values are in the order of their first use until they are sorted
	index  map[string]float32
}

// NewFactBuilder returns a builder of a fact that has no values yet.
func NewFactBuilder(f *Facts) FactBuilder { return FactBuilder{f, map[string]float32{}} }

// SetText sets cell i of a category.
func (b FactBuilder) SetText(i int, text string) error {
	number, ok := b.index[text]
	if !ok {
		if err := checkFactValue(text); err != nil {
			return err
		}
		if len(b.Values) == maxValues {
			return errTooManyValues(maxValues + 1)
		}
		text, number = strings.Clone(text), float32(len(b.Values)) // a piece of a page would keep the page
		b.index[text] = number
		b.Values = append(b.Values, text)
	}
	b.Data[i] = number
	return nil
}

// Copy copies cell j of a fact of the same kind to cell i.
func (b FactBuilder) Copy(i int, from *Facts, j int) error {
	if v := from.Data[j]; !b.Category() || v != v {
		b.Data[i] = v
		return nil
	}
	return b.SetText(i, from.Text(j))
}

// Sort sorts the values. The builder must not be used any more.
func (b FactBuilder) Sort() {
	if b.Category() {
		values := slices.Clone(b.Values)
		slices.Sort(values)
		b.renumber(values)
	}
}

// UniteFacts gives facts of several tensors, which have the same name, one list of values, that of all of them. The data
// are changed in place. Facts that are numbers stay as they are.
func UniteFacts(all ...*Facts) {
	values := []string{}
	for _, f := range all {
		if !f.Category() {
			return
		}
		if !slices.Equal(f.Values, values) {
			values = append(values, f.Values...)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for _, f := range all {
		if !slices.Equal(f.Values, values) {
			f.renumber(values)
		}
	}
}

// renumber takes other values, sorted, among which are all of before that occur.
func (f *Facts) renumber(values []string) {
	to := make([]float32, len(f.Values))
	for i, v := range f.Values {
		at, _ := slices.BinarySearch(values, v)
		to[i] = float32(at)
	}
	for i, v := range f.Data {
		if v == v {
			f.Data[i] = to[int(v)]
		}
	}
	f.Values = values
}

// used returns a copy without values that do not occur.
func (f Facts) used() Facts {
	f.Data = slices.Clone(f.Data)
	if !f.Category() {
		return f
	}
	occurs := make([]bool, len(f.Values))
	for _, v := range f.Data {
		if v == v {
			occurs[int(v)] = true
		}
	}
	values := []string{}
	for i, v := range f.Values {
		if occurs[i] {
			values = append(values, v)
		}
	}
	f.renumber(values)
	return f
}
