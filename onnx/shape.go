package onnx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Dim is the size of one axis: a number, or a name for a size that is known
// only when the graph runs. Two axes with the same name have the same size,
// and a named axis is never stretched by broadcasting.
type Dim struct {
	Size int64
	Name string // not empty: symbolic, Size is ignored
}

// Fix is an axis of n elements.
func Fix(n int64) Dim { return Dim{Size: n} }

// Sym is an axis whose size has a name.
func Sym(name string) Dim { return Dim{Name: name} }

// Known reports whether the size is a number.
func (d Dim) Known() bool { return d.Name == "" }

func (d Dim) isOne() bool { return d.Known() && d.Size == 1 }

func (d Dim) same(e Dim) bool {
	return d.Name == e.Name && (d.Name != "" || d.Size == e.Size)
}

// String is the number or the name.
func (d Dim) String() string {
	if d.Known() {
		return strconv.FormatInt(d.Size, 10)
	}
	return d.Name
}

// Shape lists the axes, outermost first; a scalar has none.
type Shape []Dim

// Dims is a shape of numbers.
func Dims(sizes ...int64) Shape {
	s := make(Shape, len(sizes))
	for i, n := range sizes {
		s[i] = Fix(n)
	}
	return s
}

// String prints as [batch 4].
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// Equal reports whether both shapes have the same numbers and names.
func (s Shape) Equal(t Shape) bool { return slices.EqualFunc(s, t, Dim.same) }

// Sizes gives the numbers; ok is false if an axis is symbolic.
func (s Shape) Sizes() (sizes []int64, ok bool) {
	sizes = make([]int64, len(s))
	for i, d := range s {
		if !d.Known() {
			return nil, false
		}
		sizes[i] = d.Size
	}
	return sizes, true
}

// allows reports whether an array of these sizes can have the shape. Axes of one name are not compared.
func (s Shape) allows(sizes []int64) bool {
	if len(s) != len(sizes) {
		return false
	}
	for i, d := range s {
		if d.Known() && d.Size != sizes[i] {
			return false
		}
	}
	return true
}

// product is the number of elements along the axes: a number, or a name composed of the number and the sorted names, so
// that equal products are the same Dim.
func product(dims []Dim) Dim {
	n, names := factors(dims)
	if len(names) == 0 {
		return Fix(n)
	}
	slices.Sort(names)
	if n != 1 {
		names = append([]string{strconv.FormatInt(n, 10)}, names...)
	}
	return Sym(strings.Join(names, "*"))
}

// factors reverses product, also for axes that are products themselves.
func factors(dims []Dim) (n int64, names []string) {
	n = 1
	for _, d := range dims {
		if d.Known() {
			n *= d.Size
			continue
		}
		for _, f := range splitFactors(d.Name) {
			if v, err := strconv.ParseInt(f, 10, 64); err == nil {
				n *= v
			} else {
				names = append(names, f)
			}
		}
	}
	return n, names
}

// splitFactors splits a name at the stars outside parentheses.
func splitFactors(name string) []string {
	var out []string
	depth, start := 0, 0
	for i, c := range name {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '*':
			if depth == 0 {
				out, start = append(out, name[start:i]), i+1
			}
		}
	}
	return append(out, name[start:])
}

// broadcast is the numpy result shape of an elementwise op.
func broadcast(a, b Shape) (Shape, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	skip := len(a) - len(b)
	for i, d := range b {
		e := a[skip+i]
		switch {
		case d.same(e) || d.isOne():
		case e.isOne():
			out[skip+i] = d
		default:
			return nil, fmt.Errorf("axis of %s against axis of %s", e, d)
		}
	}
	return out, nil
}

// axis normalises an axis, which may count from the end, to 0..rank-1.
func (s Shape) axis(i int64) (int, error) {
	n := int64(len(s))
	if i < -n || i >= n {
		return 0, fmt.Errorf("axis %d of shape %s", i, s)
	}
	if i < 0 {
		i += n
	}
	return int(i), nil
}

// axes normalises a list of axes and sorts it; none means all of them.
func (s Shape) axes(list []int64) ([]int, error) {
	out := make([]int, 0, len(s))
	if len(list) == 0 {
		for i := range s {
			out = append(out, i)
		}
		return out, nil
	}
	for _, a := range list {
		i, err := s.axis(a)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, i) {
			return nil, fmt.Errorf("axis %d twice", a)
		}
		out = append(out, i)
	}
	slices.Sort(out)
	return out, nil
}

func toInt64(list []int) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = int64(v)
	}
	return out
}
