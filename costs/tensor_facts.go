package costs

import (
	"errors"
	"fmt"
	"hash"
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

// maxValues is how many values a category may have: float32 tells so many indices apart.
const maxValues = 1 << 24

// factPrefix begins the names of the columns of facts.
const factPrefix = "observed_"

func (f Fact) column() string { return factPrefix + f.Name }

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
		err := CheckFactName(f.Name)
		switch {
		case err != nil:
		case i > 0 && f.Name == t.Facts[i-1].Name:
			err = errors.New("is there twice")
		case i > 0 && f.Name < t.Facts[i-1].Name:
			err = fmt.Errorf("comes after %q, but facts are sorted by name", t.Facts[i-1].Name)
		case len(f.Data) != t.Len()*t.Actions.Len():
			err = fmt.Errorf("has %d values for %d rows, expected %d", len(f.Data), t.Len(), t.Len()*t.Actions.Len())
		default:
			err = f.checkValues()
		}
		if err != nil {
			return &DataError{Column: f.column(), Err: err}
		}
		if err := checkFact(f, t.Actions.Len()); err != nil {
			return err
		}
	}
	return nil
}

// checkValues checks the values of a category.
func (f Fact) checkValues() error {
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
			return cellError(f.column(), i, pairs, fmt.Sprintf("is %v; it must be finite, or null where it is not known", v))
		case f.Category() && (v < 0 || int(v) >= len(f.Values) || v != float32(int(v))):
			return cellError(f.column(), i, pairs, fmt.Sprintf("is %v, which is no index into %d values", v, len(f.Values)))
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

// factKinds are the facts without their values.
func factKinds(facts []Facts) (kinds []Fact) {
	for _, f := range facts {
		kinds = append(kinds, f.kind())
	}
	return kinds
}

func (f Fact) kind() Fact {
	if f.Category() {
		f.Values = []string{}
	}
	return f
}

// kindText says what the values of a fact are.
func (f Fact) kindText() string {
	if f.Category() {
		return "texts"
	}
	return "numbers"
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

// hash writes what is known. Values that do not occur do not count.
func (f Facts) hash(h hash.Hash) {
	if f.Category() {
		f = f.used()
		hashStrings(h, f.column()+" values", f.Values)
	}
	hashFloats(h, f.column(), f.Data)
}
