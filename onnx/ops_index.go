package onnx

import (
	"fmt"
	"math"
	"slices"
)

func isIndex(t DType) bool { return t == Int64 || t == Int32 }

// Gather takes slices of x along an axis: the result has the axes of x with
// the chosen one replaced by those of indices (int32 or int64, from 0 to the
// size of the axis, or counted from the end when negative).
func (g *Graph) Gather(x, indices *Value, axis int64) *Value {
	if g.Err() != nil {
		return g.inert(1)[0]
	}
	at, err := x.shape.axis(axis)
	if err == nil && !isIndex(indices.dtype) {
		err = fmt.Errorf("indices are %s", indices.dtype)
	}
	if err != nil {
		return g.fail("Gather", err)
	}
	out := slices.Concat(x.shape[:at], indices.shape, x.shape[at+1:])
	return g.emit("Gather", []*Value{x, indices}, x.dtype, out, attr{"axis", int64(at)})
}

// GatherElements picks one element of x per element of indices, at the same position except along the axis; the result
// has the shape of indices.
func (g *Graph) GatherElements(x, indices *Value, axis int64) *Value {
	if g.Err() != nil {
		return g.inert(1)[0]
	}
	at, err := x.shape.axis(axis)
	if err == nil && (!isIndex(indices.dtype) || indices.rank() != x.rank()) {
		err = fmt.Errorf("indices are %s %s for shape %s", indices.dtype, indices.shape, x.shape)
	}
	if err != nil {
		return g.fail("GatherElements", err)
	}
	return g.emit("GatherElements", []*Value{x, indices}, x.dtype, indices.shape, attr{"axis", int64(at)})
}

// ScatterAdd is x with updates added at the positions that indices name along the axis; indices and updates have one
// shape. It has no gradient rule.
func (g *Graph) ScatterAdd(x, indices, updates *Value, axis int64) *Value {
	if g.Err() != nil {
		return g.inert(1)[0]
	}
	at, err := x.shape.axis(axis)
	if err == nil && (!isIndex(indices.dtype) || updates.dtype != x.dtype || !indices.shape.Equal(updates.shape)) {
		err = fmt.Errorf("indices %s %s, updates %s %s", indices.dtype, indices.shape, updates.dtype, updates.shape)
	}
	if err != nil {
		return g.fail("ScatterElements", err)
	}
	return g.emit("ScatterElements", []*Value{x, indices, updates}, x.dtype, x.shape,
		attr{"axis", int64(at)}, attr{"reduction", "add"})
}

// OneHot has depth elements on a new last axis: 1 at the position that indices name and 0 elsewhere, of type t:
// float32, float64 or int64.
func (g *Graph) OneHot(indices *Value, depth int64, t DType) *Value {
	if g.Err() != nil {
		return g.inert(1)[0]
	}
	values := pair(t)
	if !isIndex(indices.dtype) || depth <= 0 || values == nil {
		return g.fail("OneHot", fmt.Errorf("indices are %s, depth %d, result %s", indices.dtype, depth, t))
	}
	out := append(slices.Clone(indices.shape), Fix(depth))
	return g.emit("OneHot", []*Value{indices, g.Scalar(Int64, float64(depth)), g.Const(values)}, t, out, attr{"axis", int64(-1)})
}

// pair is the vector (0, 1) for the common types.
func pair(t DType) *Tensor {
	switch t {
	case Float32:
		return Float32s([]int64{2}, []float32{0, 1})
	case Float64:
		return Float64s([]int64{2}, []float64{0, 1})
	case Int64:
		return Int64s([]int64{2}, []int64{0, 1})
	default:
		return nil
	}
}

// ConstantOfShape fills a tensor of the sizes in shape (an int64 vector, known only when the graph runs) with v; out is
// the part of the shape that the caller knows.
func (g *Graph) ConstantOfShape(shape *Value, out Shape, t DType, v float64) *Value {
	c, err := scalarTensor(t, v)
	if err == nil && (shape.dtype != Int64 || shape.rank() != 1) && g.Err() == nil {
		err = fmt.Errorf("shape is %s %s", shape.dtype, shape.shape)
	}
	if err != nil {
		return g.fail("ConstantOfShape", err)
	}
	c.Shape = []int64{1}
	return g.emit("ConstantOfShape", []*Value{shape}, t, out, attr{"value", c})
}

// Range counts from start up to (not including) limit by delta, all scalars of
// one type. The size is known if all three are constants.
func (g *Graph) Range(start, limit, delta *Value) *Value {
	if g.Err() != nil {
		return g.inert(1)[0]
	}
	in := []*Value{start, limit, delta}
	n, known := [3]float64{}, true
	for i, v := range in {
		if v.rank() != 0 || v.dtype != start.dtype {
			return g.fail("Range", fmt.Errorf("bound is %s %s", v.dtype, v.shape))
		}
		c, ok := scalarValue(v.base().init)
		n[i], known = c, known && ok
	}
	if known && n[2] != 0 {
		size := math.Max(0, math.Ceil((n[1]-n[0])/n[2]))
		return g.emit("Range", in, start.dtype, Dims(int64(size)))
	}
	return g.emit("Range", in, start.dtype, Shape{Sym(g.fresh("dim"))})
}
