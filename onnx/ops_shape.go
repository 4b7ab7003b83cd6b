package onnx

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Reshape changes the axes of x and keeps its elements in their order: size 0 keeps the axis at that position, one -1
// takes the remaining elements.
func (g *Graph) Reshape(x *Value, sizes ...int64) *Value {
	out, err := reshape(x.shape, sizes)
	if err != nil {
		return g.fail("Reshape", fmt.Errorf("%s to %v: %w", x.shape, sizes, err))
	}
	return g.emit("Reshape", []*Value{x, g.int64s(sizes...)}, x.dtype, out)
}

func reshape(s Shape, sizes []int64) (Shape, error) {
	out, rest := make(Shape, len(sizes)), -1
	for i, n := range sizes {
		switch {
		case n == 0 && i < len(s):
			out[i] = s[i]
		case n == -1 && rest < 0:
			rest, out[i] = i, Fix(1)
		case n > 0:
			out[i] = Fix(n)
		default:
			return nil, fmt.Errorf("size %d at place %d", n, i)
		}
	}
	have, made := product(s), product(out)
	switch {
	case rest < 0 && !have.same(made):
		return nil, fmt.Errorf("%s elements cannot be reshaped to %s", have, made)
	case rest < 0:
		return out, nil
	}
	d, err := quotient(s, out)
	out[rest] = d
	return out, err
}

// quotient is the size that -1 stands for: names that occur on both sides cancel.
func quotient(s, out Shape) (Dim, error) {
	have, left := factors(s)
	made, names := factors(out)
	for _, name := range names {
		i := slices.Index(left, name)
		if i < 0 {
			return Dim{}, fmt.Errorf("axis %s does not exist", name)
		}
		left = slices.Delete(left, i, i+1)
	}
	rest := make(Shape, len(left))
	for i, name := range left {
		rest[i] = Sym(name)
	}
	switch {
	case made == 0:
		return Dim{}, errors.New("nothing to divide")
	case have%made == 0:
		return product(append(rest, Fix(have/made))), nil
	case len(left) == 0:
		return Dim{}, fmt.Errorf("%d elements cannot be divided by %d", have, made)
	default:
		return Sym(fmt.Sprintf("(%s/%d)", product(append(rest, Fix(have))), made)), nil
	}
}

// ReshapeTo reshapes to the sizes in shape (int64, one axis), which are known only when the graph runs; out is the part
// of them that the caller knows.
func (g *Graph) ReshapeTo(x, shape *Value, out Shape) *Value {
	if g.Err() == nil && (shape.dtype != Int64 || shape.rank() != 1) {
		return g.fail("Reshape", fmt.Errorf("shape is %s %s", shape.dtype, shape.shape))
	}
	return g.emit("Reshape", []*Value{x, shape}, x.dtype, out)
}

// reshapeLike gives x the shape of like, which has the same number of elements.
func (g *Graph) reshapeLike(x, like *Value) *Value {
	if g.Err() != nil || x.shape.Equal(like.shape) {
		return x
	}
	sizes, unknown := make([]int64, like.rank()), 0
	for i, d := range like.shape {
		sizes[i] = d.Size
		if !d.Known() {
			sizes[i] = -1
			unknown++
		} else if d.Size == 0 {
			unknown = 2 // 0 would mean "keep"
		}
	}
	if unknown > 1 {
		return g.ReshapeTo(x, g.ShapeOf(like), like.shape)
	}
	return g.emit("Reshape", []*Value{x, g.int64s(sizes...)}, x.dtype, like.shape)
}

// Unsqueeze inserts axes of size 1; the numbers are positions in the result.
func (g *Graph) Unsqueeze(x *Value, axes ...int64) *Value {
	if g.Err() != nil || len(axes) == 0 {
		return x
	}
	out := make(Shape, x.rank()+len(axes))
	list, err := out.axes(axes)
	if err != nil {
		return g.fail("Unsqueeze", err)
	}
	next := 0
	for i := range out {
		if slices.Contains(list, i) {
			out[i] = Fix(1)
			continue
		}
		out[i] = x.dim(next)
		next++
	}
	return g.emit("Unsqueeze", []*Value{x}, x.dtype, out, attr{"axes", toInt64(list)})
}

// Squeeze removes axes, which must have size 1.
func (g *Graph) Squeeze(x *Value, axes ...int64) *Value {
	if g.Err() != nil || len(axes) == 0 {
		return x
	}
	list, err := x.shape.axes(axes)
	if err != nil {
		return g.fail("Squeeze", err)
	}
	var out Shape
	for i, d := range x.shape {
		switch {
		case !slices.Contains(list, i):
			out = append(out, d)
		case !d.isOne():
			return g.fail("Squeeze", fmt.Errorf("axis %d of shape %s", i, x.shape))
		}
	}
	return g.emit("Squeeze", []*Value{x}, x.dtype, out, attr{"axes", toInt64(list)})
}

// Expand stretches axes of size 1 to the given sizes, with the rules of broadcasting.
func (g *Graph) Expand(x *Value, sizes ...int64) *Value {
	out, err := broadcast(x.shape, Dims(sizes...))
	if err != nil {
		return g.fail("Expand", fmt.Errorf("%s to %v: %w", x.shape, sizes, err))
	}
	return g.emit("Expand", []*Value{x, g.int64s(sizes...)}, x.dtype, out)
}

// ExpandLike stretches x to the shape of like, which it must broadcast to.
func (g *Graph) ExpandLike(x, like *Value) *Value {
	if g.Err() != nil || x.shape.Equal(like.shape) {
		return x
	}
	if out, err := broadcast(x.shape, like.shape); err != nil || !out.Equal(like.shape) {
		return g.fail("Expand", fmt.Errorf("%s to the shape %s", x.shape, like.shape))
	}
	return g.emit("Expand", []*Value{x, g.ShapeOf(like)}, x.dtype, like.shape)
}

// ShapeOf is the shape of x as an int64 vector; a constant if it is known.
func (g *Graph) ShapeOf(x *Value) *Value {
	if sizes, ok := x.shape.Sizes(); ok {
		return g.int64s(sizes...)
	}
	return g.emit("Shape", []*Value{x}, Int64, Dims(int64(x.rank())))
}

// Concat joins values along an axis; the other axes must agree.
func (g *Graph) Concat(axis int64, xs ...*Value) *Value {
	if len(xs) == 0 {
		return g.fail("Concat", errors.New("no values to join"))
	}
	at, err := xs[0].shape.axis(axis)
	if err != nil {
		return g.fail("Concat", err)
	}
	out := slices.Clone(xs[0].shape)
	for _, x := range xs[1:] {
		if x.dtype != xs[0].dtype || x.rank() != len(out) {
			return g.fail("Concat", fmt.Errorf("%s %s and %s %s", xs[0].dtype, xs[0].shape, x.dtype, x.shape))
		}
		for i, d := range x.shape {
			if i != at && !d.same(out[i]) {
				return g.fail("Concat", fmt.Errorf("shapes %s and %s", xs[0].shape, x.shape))
			}
		}
		out[at] = addDims(out[at], x.dim(at))
	}
	return g.emit("Concat", slices.Clone(xs), xs[0].dtype, out, attr{"axis", int64(at)})
}

func addDims(a, b Dim) Dim {
	if a.Known() && b.Known() {
		return Fix(a.Size + b.Size)
	}
	return Sym("(" + a.String() + "+" + b.String() + ")")
}

// Split splits x along an axis into pieces of the given sizes, whose sum must be the size of the axis if that is known.
func (g *Graph) Split(x *Value, axis int64, sizes ...int64) []*Value {
	at, err := x.shape.axis(axis)
	sum, out := int64(0), make([]*Value, len(sizes))
	for i, n := range sizes {
		if n < 0 {
			err = fmt.Errorf("size %d", n)
			break
		}
		sum += n
		out[i] = &Value{dtype: x.dtype, shape: slices.Clone(x.shape)}
		if err == nil {
			out[i].shape[at] = Fix(n)
		}
	}
	if err == nil && x.dim(at).Known() && x.dim(at).Size != sum {
		err = fmt.Errorf("sizes %v for axis %d of shape %s", sizes, axis, x.shape)
	}
	if err != nil {
		g.fail("Split", err)
		return g.inert(len(sizes))
	}
	return g.emitMany("Split", []*Value{x, g.int64s(sizes...)}, out, attr{"axis", int64(at)})
}

// toEnd is an end beyond the end of every axis.
const toEnd = math.MaxInt64

// Slice takes the elements from starts to ends (exclusive) by steps along the axes; negative numbers count from the
// end, and ends out of range are clamped. Nil axes are the first ones, nil steps are 1.
func (g *Graph) Slice(x *Value, starts, ends, axes, steps []int64) *Value {
	axes, steps = sliceDefaults(len(starts), axes, steps)
	out, err := sliceShape(x.shape, starts, ends, axes, steps)
	if err != nil {
		return g.fail("Slice", fmt.Errorf("shape %s: %w", x.shape, err))
	}
	in := []*Value{x, g.int64s(starts...), g.int64s(ends...), g.int64s(axes...), g.int64s(steps...)}
	return g.emit("Slice", in, x.dtype, out)
}

func sliceDefaults(n int, axes, steps []int64) (a, s []int64) {
	if axes == nil {
		for i := range n {
			axes = append(axes, int64(i))
		}
	}
	if steps == nil {
		steps = make([]int64, n)
		for i := range steps {
			steps[i] = 1
		}
	}
	return axes, steps
}

func sliceShape(s Shape, starts, ends, axes, steps []int64) (Shape, error) {
	n := len(starts)
	if len(ends) != n || len(axes) != n || len(steps) != n || n == 0 {
		return nil, fmt.Errorf("%d starts, %d ends, %d axes, %d steps", n, len(ends), len(axes), len(steps))
	}
	if _, err := s.axes(axes); err != nil {
		return nil, err
	}
	out := slices.Clone(s)
	for i, a := range axes {
		if steps[i] == 0 {
			return nil, errors.New("step 0")
		}
		at, _ := s.axis(a)
		d := s[at]
		switch {
		case d.Known():
			out[at] = Fix(sliceLen(d.Size, starts[i], ends[i], steps[i]))
		case starts[i] == 0 && ends[i] == toEnd && steps[i] == 1:
		default:
			out[at] = Sym(fmt.Sprintf("slice(%s,%d,%d,%d)", d.Name, starts[i], ends[i], steps[i]))
		}
	}
	return out, nil
}

// sliceLen counts the elements of a slice of an axis with n elements.
func sliceLen(n, start, end, step int64) int64 {
	lo, hi := int64(0), n
	if step < 0 {
		lo, hi = -1, n-1
	}
	place := func(i int64) int64 {
		if i < 0 {
			i += n
		}
		return min(max(i, lo), hi)
	}
	start, end = place(start), place(end)
	if step > 0 {
		return max(0, (end-start+step-1)/step)
	}
	return max(0, (start-end-step-1)/-step)
}

// SliceDyn is Slice with step 1 and bounds that are known only when the graph runs: int64 vectors of one length. The
// sizes of the sliced axes get new names, which AssumeShape can replace.
func (g *Graph) SliceDyn(x, starts, ends, axes *Value) *Value {
	for _, v := range []*Value{starts, ends, axes} {
		if v.dtype != Int64 || v.rank() != 1 {
			return g.fail("Slice", fmt.Errorf("bounds are %s %s", v.dtype, v.shape))
		}
	}
	out := slices.Clone(x.shape)
	cut := make([]int64, len(out))
	for i := range cut {
		cut[i] = int64(i)
	}
	if c := axes.base().init; c != nil {
		cut = c.Int64s()
	}
	if len(cut) == 0 {
		return g.fail("Slice", errors.New("no axes"))
	}
	list, err := x.shape.axes(cut)
	if err != nil {
		return g.fail("Slice", err)
	}
	for _, i := range list {
		out[i] = Sym(g.fresh("dim"))
	}
	return g.emit("Slice", []*Value{x, starts, ends, axes}, x.dtype, out)
}

// Pad puts before[i] zeros before axis i and after[i] after it; negative numbers are not allowed.
func (g *Graph) Pad(x *Value, before, after []int64) *Value {
	if len(before) != x.rank() || len(after) != x.rank() {
		return g.fail("Pad", fmt.Errorf("%v and %v for shape %s", before, after, x.shape))
	}
	out := slices.Clone(x.shape)
	for i := range out {
		if before[i] < 0 || after[i] < 0 {
			return g.fail("Pad", fmt.Errorf("%v and %v for shape %s", before, after, x.shape))
		}
		if n := before[i] + after[i]; n > 0 {
			out[i] = addDims(out[i], Fix(n))
		}
	}
	return g.emit("Pad", []*Value{x, g.int64s(slices.Concat(before, after)...)}, x.dtype, out)
}
