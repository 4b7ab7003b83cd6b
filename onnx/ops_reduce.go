package onnx

import (
	"fmt"
	"slices"
)

// reduce removes the axes, or keeps them with size 1. No axes means all.
func (g *Graph) reduce(op string, x *Value, keepdims bool, axes []int64) *Value {
	list, err := x.shape.axes(axes)
	if err != nil {
		return g.fail(op, err)
	}
	var out Shape
	for i, d := range x.shape {
		switch {
		case !slices.Contains(list, i):
			out = append(out, d)
		case keepdims:
			out = append(out, Fix(1))
		}
	}
	if len(list) == 0 {
		return x // a scalar
	}
	return g.emit(op, []*Value{x}, x.dtype, out,
		attr{"axes", toInt64(list)}, attr{"keepdims", flag(keepdims)})
}

// ReduceSum adds along the axes; none means all. The other Reduce ops treat
// axes and keepdims the same way.
func (g *Graph) ReduceSum(x *Value, keepdims bool, axes ...int64) *Value {
	return g.reduce("ReduceSum", x, keepdims, axes)
}

// ReduceMean averages along the axes.
func (g *Graph) ReduceMean(x *Value, keepdims bool, axes ...int64) *Value {
	return g.reduce("ReduceMean", x, keepdims, axes)
}

// ReduceMax takes the largest element along the axes. Its gradient is shared equally by the elements that attain it.
// The same holds for ReduceMin.
func (g *Graph) ReduceMax(x *Value, keepdims bool, axes ...int64) *Value {
	return g.reduce("ReduceMax", x, keepdims, axes)
}

// ReduceMin takes the smallest element along the axes.
func (g *Graph) ReduceMin(x *Value, keepdims bool, axes ...int64) *Value {
	return g.reduce("ReduceMin", x, keepdims, axes)
}

// ReduceProd multiplies along the axes; it has no gradient rule.
func (g *Graph) ReduceProd(x *Value, keepdims bool, axes ...int64) *Value {
	return g.reduce("ReduceProd", x, keepdims, axes)
}

// ReduceSumSquare adds the squares along the axes.
func (g *Graph) ReduceSumSquare(x *Value, keepdims bool, axes ...int64) *Value {
	return g.reduce("ReduceSumSquare", x, keepdims, axes)
}

func (g *Graph) alongAxis(op string, x *Value, axis int64) *Value {
	i, err := x.shape.axis(axis)
	if err != nil {
		return g.fail(op, err)
	}
	return g.emit(op, []*Value{x}, x.dtype, x.shape, attr{"axis", int64(i)})
}

// Softmax is exp(x) divided by its sum along the axis.
func (g *Graph) Softmax(x *Value, axis int64) *Value { return g.alongAxis("Softmax", x, axis) }

// LogSoftmax is x minus the log of the sum of exp(x) along the axis.
func (g *Graph) LogSoftmax(x *Value, axis int64) *Value { return g.alongAxis("LogSoftmax", x, axis) }

// ArgMax is the int64 index of the largest element along the axis, the smallest index on ties.
func (g *Graph) ArgMax(x *Value, axis int64, keepdims bool) *Value {
	i, err := x.shape.axis(axis)
	if err != nil {
		return g.fail("ArgMax", err)
	}
	out := slices.Clone(x.shape)
	if keepdims {
		out[i] = Fix(1)
	} else {
		out = slices.Delete(out, i, i+1)
	}
	return g.emit("ArgMax", []*Value{x}, Int64, out, attr{"axis", int64(i)}, attr{"keepdims", flag(keepdims)})
}

// TopK gives the k largest (or smallest) elements along the axis, sorted, and
// their int64 indices.
func (g *Graph) TopK(x *Value, k, axis int64, largest bool) (values, indices *Value) {
	i, err := x.shape.axis(axis)
	if err == nil && (k < 0 || x.dim(i).Known() && k > x.dim(i).Size) {
		err = fmt.Errorf("%d elements of axis %d of shape %s", k, axis, x.shape)
	}
	if err != nil {
		v := g.fail("TopK", err)
		return v, v
	}
	s := slices.Clone(x.shape)
	s[i] = Fix(k)
	out := g.emitMany("TopK", []*Value{x, g.int64s(k)}, []*Value{{dtype: x.dtype, shape: s}, {dtype: Int64, shape: s}},
		attr{"axis", int64(i)}, attr{"largest", flag(largest)}, attr{"sorted", int64(1)})
	return out[0], out[1]
}

// CumSum is the running sum along the axis: exclusive leaves the element
// itself out, reverse starts at the end. It has no gradient rule.
func (g *Graph) CumSum(x *Value, axis int64, exclusive, reverse bool) *Value {
	i, err := x.shape.axis(axis)
	if err != nil {
		return g.fail("CumSum", err)
	}
	in := []*Value{x, g.Scalar(Int64, float64(i))}
	return g.emit("CumSum", in, x.dtype, x.shape,
		attr{"exclusive", flag(exclusive)}, attr{"reverse", flag(reverse)})
}
