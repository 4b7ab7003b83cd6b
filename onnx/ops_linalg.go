package onnx

import (
	"fmt"
	"slices"
)

// MatMul multiplies matrices as numpy does: [..., n, k] by [..., k, m] gives [..., n, m] with broadcasting of the
// leading axes. A vector on the left is a row, on the right a column, and its axis is removed from the result.
func (g *Graph) MatMul(a, b *Value) *Value {
	if a.dtype != b.dtype {
		return g.fail("MatMul", fmt.Errorf("types %s and %s", a.dtype, b.dtype))
	}
	s, err := matmulShape(a.shape, b.shape)
	if err != nil {
		return g.fail("MatMul", fmt.Errorf("shapes %s and %s: %w", a.shape, b.shape, err))
	}
	return g.emit("MatMul", []*Value{a, b}, a.dtype, s)
}

func matmulShape(a, b Shape) (Shape, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, fmt.Errorf("a scalar has no matrix product")
	}
	row, col := len(a) == 1, len(b) == 1
	if row {
		a = Shape{Fix(1), a[0]}
	}
	if col {
		b = Shape{b[0], Fix(1)}
	}
	na, nb := len(a), len(b)
	if !a[na-1].same(b[nb-2]) {
		return nil, fmt.Errorf("inner axes %s and %s", a[na-1], b[nb-2])
	}
	out, err := broadcast(a[:na-2], b[:nb-2])
	if err != nil {
		return nil, err
	}
	out = slices.Clone(out)
	if !row {
		out = append(out, a[na-2])
	}
	if !col {
		out = append(out, b[nb-1])
	}
	return out, nil
}

// Gemm is alpha*A*B + beta*C for matrices, where A is a or its transpose and B
// is b or its transpose; c broadcasts to the result and may be nil.
func (g *Graph) Gemm(a, b, c *Value, alpha, beta float64, transA, transB bool) *Value {
	s, err := gemmShape(a, b, c, transA, transB)
	if err != nil {
		return g.fail("Gemm", err)
	}
	in := []*Value{a, b}
	if c != nil {
		in = append(in, c)
	}
	return g.emit("Gemm", in, a.dtype, s, attr{"alpha", float32(alpha)}, attr{"beta", float32(beta)},
		attr{"transA", flag(transA)}, attr{"transB", flag(transB)})
}

func gemmShape(a, b, c *Value, transA, transB bool) (Shape, error) {
	if a.rank() != 2 || b.rank() != 2 {
		return nil, fmt.Errorf("shapes %s and %s are not matrices", a.shape, b.shape)
	}
	if a.dtype != b.dtype || c != nil && c.dtype != a.dtype {
		return nil, fmt.Errorf("operands have different types")
	}
	n, k, l, m := a.dim(0), a.dim(1), b.dim(0), b.dim(1)
	if transA {
		n, k = k, n
	}
	if transB {
		l, m = m, l
	}
	if !k.same(l) {
		return nil, fmt.Errorf("shapes %s and %s: inner axes %s and %s", a.shape, b.shape, k, l)
	}
	s := Shape{n, m}
	if c == nil {
		return s, nil
	}
	if t, err := broadcast(s, c.shape); err != nil || !t.Equal(s) {
		return nil, fmt.Errorf("shape %s does not broadcast to %s", c.shape, s)
	}
	return s, nil
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Transpose reorders the axes: axis i of the result is axis perm[i] of x.
// Without perm the order is reversed.
func (g *Graph) Transpose(x *Value, perm ...int64) *Value {
	if len(perm) == 0 {
		for i := x.rank() - 1; i >= 0; i-- {
			perm = append(perm, int64(i))
		}
	}
	used := make([]bool, x.rank())
	out := make(Shape, 0, x.rank())
	for _, p := range perm {
		if p < 0 || p >= int64(x.rank()) || used[p] {
			return g.fail("Transpose", fmt.Errorf("order %v for shape %s", perm, x.shape))
		}
		used[p] = true
		out = append(out, x.dim(int(p)))
	}
	if len(out) != x.rank() {
		return g.fail("Transpose", fmt.Errorf("order %v for shape %s", perm, x.shape))
	}
	return g.emit("Transpose", []*Value{x}, x.dtype, out, attr{"perm", slices.Clone(perm)})
}

// transposeLast swaps the last two axes.
func (g *Graph) transposeLast(x *Value) *Value {
	if g.Err() != nil {
		return g.inert(1)[0]
	}
	perm := make([]int64, x.rank())
	for i := range perm {
		perm[i] = int64(i)
	}
	n := len(perm)
	perm[n-1], perm[n-2] = perm[n-2], perm[n-1]
	return g.Transpose(x, perm...)
}
