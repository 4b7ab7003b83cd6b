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
	at, err := x.shape.axis(axis)
	if err == nil && (!isIndex(indices.dtype) || indices.rank() != x.rank()) {
		err = fmt.Errorf("indices are %s %s for shape %s", indices.dtype, indices.shape, x.shape)
	}
	if err != nil {
		return g.fail("GatherElements", err)
	}
	return g.emit("GatherElements", []*Value{x, indices}, x.dtype, indices.shape, attr{"axis", int64(at)})
}

// scatterAdd is x with updates added at the positions that indices name along the axis; indices and updates have one
// shape. It has no gradient rule.
func (g *Graph) scatterAdd(x, indices, updates *Value, axis int64) *Value {
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

// zerosOf is a tensor of zeros of the sizes in shape (an int64 vector, known only when the graph runs); out is the part
// of the shape that the caller knows.
func (g *Graph) zerosOf(shape *Value, out Shape, t DType) *Value {
	zero, err := scalarTensor(t, 0)
	if err != nil {
		return g.fail("ConstantOfShape", err)
	}
	zero.Shape = []int64{1}
	return g.emit("ConstantOfShape", []*Value{shape}, t, out, attr{"value", zero})
}

// Range counts from start up to (not including) limit by delta, all scalars of
// one type. The size is known if all three are constants.
func (g *Graph) Range(start, limit, delta *Value) *Value {
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
