package onnx

import "slices"

// unreduce gives a cotangent, or another value of the result's shape, the rank of the operand of a reduction.
func (t *tape) unreduce(d cot, n *node) cot {
	if d.v == nil || n.int("keepdims") != 0 {
		return d
	}
	d = t.ranked(d, n.out[0].rank())
	return cot{t.g.Unsqueeze(d.v, n.ints("axes")...), d.c}
}

func gradReduceSum(t *tape, n *node, dy []cot) { t.add(n.in[0], t.unreduce(dy[0], n)) }

func gradReduceMean(t *tape, n *node, dy []cot) {
	x := n.in[0]
	d, dims := t.unreduce(dy[0], n), []Dim(nil)
	for _, a := range n.ints("axes") {
		dims = append(dims, x.dim(int(a)))
	}
	if count := product(dims); count.Known() {
		t.add(x, t.scale(d, 1/float64(count.Size)))
		return
	}
	sizes := t.g.Gather(t.g.ShapeOf(x), t.g.int64s(n.ints("axes")...), 0)
	t.add(x, t.div(d, t.g.Cast(t.g.ReduceProd(sizes, false), x.dtype)))
}

func gradReduceSumSquare(t *tape, n *node, dy []cot) {
	t.add(n.in[0], t.mul(t.scale(t.unreduce(dy[0], n), 2), n.in[0]))
}

// Elements that are tied for the largest or smallest share the gradient.
func gradReduceExtreme(t *tape, n *node, dy []cot) {
	g, x := t.g, n.in[0]
	best := t.unreduce(tensor(n.out[0]), n).v
	hit := g.Cast(g.Equal(x, best), x.dtype)
	share := g.Div(hit, g.ReduceSum(hit, true, n.ints("axes")...))
	t.add(x, t.mul(t.unreduce(dy[0], n), share))
}

// dx = y*dy - y*sum(y*dy).
func gradSoftmax(t *tape, n *node, dy []cot) {
	x, y := n.in[0], n.out[0]
	s := t.mul(dy[0], y)
	total := t.sumAxes(s, y, []int{int(n.int("axis"))})
	t.add(x, t.sum(s, t.mul(total, y).neg()))
}

// dx = dy - exp(y)*sum(dy).
func gradLogSoftmax(t *tape, n *node, dy []cot) {
	x, y := n.in[0], n.out[0]
	total := t.sumAxes(dy[0], y, []int{int(n.int("axis"))})
	t.add(x, t.sum(dy[0], t.mul(total, t.g.Exp(y)).neg()))
}

func gradCumSum(t *tape, n *node, dy []cot) {
	d := t.full(dy[0], n.in[0])
	axis, _ := scalarValue(n.in[1].base().init)
	t.add(n.in[0], cot{t.g.CumSum(d.v, int64(axis), n.int("exclusive") != 0, n.int("reverse") == 0), d.c})
}

func gradTranspose(t *tape, n *node, dy []cot) {
	d := t.ranked(dy[0], n.out[0].rank())
	if d.v != nil {
		perm := n.ints("perm")
		back := make([]int64, len(perm))
		for i, p := range perm {
			back[p] = int64(i)
		}
		d.v = t.g.Transpose(d.v, back...)
	}
	t.add(n.in[0], d)
}

func gradReshape(t *tape, n *node, dy []cot) {
	d := dy[0]
	if d.v != nil {
		d = t.full(d, n.out[0])
		d.v = t.g.reshapeLike(d.v, n.in[0])
	}
	t.add(n.in[0], d)
}

func gradUnsqueeze(t *tape, n *node, dy []cot) {
	d := t.ranked(dy[0], n.out[0].rank())
	if d.v != nil {
		d.v = t.g.Squeeze(d.v, n.ints("axes")...)
	}
	t.add(n.in[0], d)
}

func gradSqueeze(t *tape, n *node, dy []cot) {
	d := t.ranked(dy[0], n.out[0].rank())
	if d.v != nil {
		d.v = t.g.Unsqueeze(d.v, slices.Clone(n.ints("axes"))...)
	}
	t.add(n.in[0], d)
}

func gradExpand(t *tape, n *node, dy []cot) { t.pass(n, 0, func() cot { return dy[0] }) }

// y = scale*h + bias, h = (x - mean)*r, r = 1/sqrt(variance + epsilon). With
// u = scale*dy: dx = r*(u - mean(u) - h*mean(u*h)).
func gradLayerNormalization(t *tape, n *node, dy []cot) {
	g, x := t.g, n.in[0]
	epsilon, _ := n.attr("epsilon").(float32)
	centred := g.Sub(x, g.ReduceMean(x, true, -1))
	variance := g.ReduceMean(g.Mul(centred, centred), true, -1)
	r := g.Reciprocal(g.Sqrt(g.Add(variance, g.Scalar(x.dtype, float64(epsilon)))))
	h := g.Mul(centred, r)
	t.pass(n, 1, func() cot { return t.mul(dy[0], h) })
	t.pass(n, 2, func() cot { return dy[0] })
	if !t.depends(x) {
		return
	}
	u := t.full(t.mul(dy[0], n.in[1]), x)
	along := g.Mul(h, g.ReduceMean(g.Mul(u.v, h), true, -1))
	t.add(x, cot{g.Mul(r, g.Sub(g.Sub(u.v, g.ReduceMean(u.v, true, -1)), along)), u.c})
}
