package cascade

import (
	"fmt"

	"pipe/costs"
	"pipe/onnx"
)

// Encoding makes a row of numbers of the features and of what was seen of the executed pairs: the features, then the
// numbers, the categories, the agreements, and what is known. Columns of what is seen are numbered pair*F + fact. A value
// that is not finite is not known.
type Encoding struct {
	Dim     int         // width of the features, which come first
	Numbers []Number    // as they are, within the range that training saw
	Values  []Value     // 1 where a category has a value, else 0: values without a column, and unknown ones, have only zeros
	Agree   []Agreement // 1 where two pairs say the same, else 0
	Known   []int       // columns: 1 where the fact is known, else 0
}

// Number is a number that is seen of an answer.
type Number struct {
	Column    int
	Low, High float32 // it is clipped to
	Fill      float32 // where it is not known
}

// Value is one value of a category.
type Value struct {
	Column int
	Index  int // into Values of the fact
}

// Agreement compares two columns of one category.
type Agreement struct{ A, B int }

// Width is the number of values of an encoded state.
func (e Encoding) Width() int {
	return e.Dim + len(e.Numbers) + len(e.Values) + len(e.Agree) + len(e.Known)
}

// Encode appends the encoding of a row to dst. x has Dim features, observed has a value for every column.
func (e Encoding) Encode(dst, x, observed []float32) []float32 {
	dst = append(dst, x...)
	for _, n := range e.Numbers {
		v := n.Fill
		if seen := observed[n.Column]; known(seen) {
			v = max(n.Low, min(n.High, seen))
		}
		dst = append(dst, v)
	}
	for _, v := range e.Values {
		dst = append(dst, one(observed[v.Column] == float32(v.Index)))
	}
	for _, a := range e.Agree {
		dst = append(dst, one(known(observed[a.A]) && observed[a.A] == observed[a.B]))
	}
	for _, c := range e.Known {
		dst = append(dst, one(known(observed[c])))
	}
	return dst
}

// known reports whether a value that is seen of an answer is known.
func known(v float32) bool { return v-v == 0 }

func one(is bool) float32 {
	if is {
		return 1
	}
	return 0
}

// check reports columns that the facts of the executed pairs do not have, and numbers that are none.
func (e Encoding) check(executed []int, facts []costs.Fact) error {
	in := make(map[int]costs.Fact)
	for _, i := range executed {
		for f, fact := range facts {
			in[i*len(facts)+f] = fact
		}
	}
	for _, n := range e.Numbers {
		if f, ok := in[n.Column]; !ok || f.Values != nil || !known(n.Fill) || !(n.Low <= n.High) || !known(n.Low) || !known(n.High) {
			return fmt.Errorf("column %d is no number from %g to %g", n.Column, n.Low, n.High)
		}
	}
	for _, v := range e.Values {
		if f, ok := in[v.Column]; !ok || v.Index < 0 || v.Index >= len(f.Values) {
			return fmt.Errorf("column %d has no value %d", v.Column, v.Index)
		}
	}
	for _, a := range e.Agree {
		if f, ok := in[a.A]; !ok || f.Values == nil || in[a.B].Name != f.Name {
			return fmt.Errorf("columns %d and %d cannot be compared", a.A, a.B)
		}
	}
	for _, c := range e.Known {
		if _, ok := in[c]; !ok {
			return fmt.Errorf("column %d is of no executed pair", c)
		}
	}
	return nil
}

// graph is Encode for a batch: x is rows x Dim, observed rows x columns.
func (e Encoding) graph(g *onnx.Graph, x, observed *onnx.Value) *onnx.Value {
	parts := []*onnx.Value{x}
	if len(e.Numbers) > 0 {
		parts = append(parts, e.numbers(g, observed))
	}
	if len(e.Values) > 0 {
		index := make([]float32, len(e.Values))
		for i, v := range e.Values {
			index[i] = float32(v.Index)
		}
		seen := columns(g, observed, len(e.Values), func(i int) int { return e.Values[i].Column })
		parts = append(parts, g.Cast(g.Equal(seen, row(g, index)), onnx.Float32))
	}
	if len(e.Agree) > 0 {
		a := columns(g, observed, len(e.Agree), func(i int) int { return e.Agree[i].A })
		b := columns(g, observed, len(e.Agree), func(i int) int { return e.Agree[i].B })
		parts = append(parts, g.Cast(g.And(g.Equal(a, b), knownGraph(g, a)), onnx.Float32))
	}
	if len(e.Known) > 0 {
		seen := columns(g, observed, len(e.Known), func(i int) int { return e.Known[i] })
		parts = append(parts, g.Cast(knownGraph(g, seen), onnx.Float32))
	}
	if len(parts) == 1 {
		return x
	}
	return g.Concat(1, parts...)
}

func (e Encoding) numbers(g *onnx.Graph, observed *onnx.Value) *onnx.Value {
	n := len(e.Numbers)
	low, high, fill := make([]float32, n), make([]float32, n), make([]float32, n)
	for i, of := range e.Numbers {
		low[i], high[i], fill[i] = of.Low, of.High, of.Fill
	}
	seen := columns(g, observed, n, func(i int) int { return e.Numbers[i].Column })
	return g.Where(knownGraph(g, seen), g.Max(g.Min(seen, row(g, high)), row(g, low)), row(g, fill))
}

// knownGraph is known for every element.
func knownGraph(g *onnx.Graph, v *onnx.Value) *onnx.Value {
	return g.Equal(g.Sub(v, v), g.Scalar(onnx.Float32, 0))
}

// columns are n columns of v, rows x columns.
func columns(g *onnx.Graph, v *onnx.Value, n int, of func(i int) int) *onnx.Value {
	index := make([]int64, n)
	for i := range index {
		index[i] = int64(of(i))
	}
	return g.Gather(v, g.Const(onnx.Int64s([]int64{int64(n)}, index)), 1)
}

// row is a constant of 1 x len(v).
func row(g *onnx.Graph, v []float32) *onnx.Value {
	return g.Const(onnx.Float32s([]int64{1, int64(len(v))}, v))
}
