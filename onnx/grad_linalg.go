package onnx

// lastFull is d with its last two axes stretched to those of y; axes before
// them may stay 1, since MatMul broadcasts them.
func (t *tape) lastFull(d cot, y *Value) cot {
	if d.v == nil || d.v.rank() != y.rank() {
		return t.full(d, y)
	}
	for i := y.rank() - 2; i < y.rank(); i++ {
		if !d.v.dim(i).same(y.dim(i)) {
			return t.full(d, y)
		}
	}
	return d
}

// y = a b: da = dy bᵀ, db = aᵀ dy, summed over axes that were broadcast.
func gradMatMul(t *tape, n *node, dy []cot) {
	g, a, b, y := t.g, n.in[0], n.in[1], n.out[0]
	if a.rank() == 1 || b.rank() == 1 {
		t.gradVector(n, dy[0])
		return
	}
	d := t.lastFull(dy[0], y)
	if t.depends(a) {
		da := g.MatMul(d.v, g.transposeLast(b))
		t.add(a, t.sumTo(cot{da, d.c}, da, a))
	}
	if !t.depends(b) {
		return
	}
	if b.rank() == 2 && a.rank() > 2 {
		// One large product instead of a batch of products and their sum.
		d = t.full(dy[0], y)
		t.add(b, cot{g.MatMul(g.transposeLast(t.flatten(a)), t.flatten(d.v)), d.c})
		return
	}
	db := g.MatMul(g.transposeLast(a), d.v)
	t.add(b, t.sumTo(cot{db, d.c}, db, b))
}

// flatten merges all axes but the last.
func (t *tape) flatten(x *Value) *Value {
	last := x.dim(x.rank() - 1)
	if last.Known() && last.Size > 0 {
		return t.g.Reshape(x, -1, last.Size)
	}
	rows := product(x.shape[:x.rank()-1])
	if rows.Known() && rows.Size > 0 {
		return t.g.ReshapeTo(x, t.g.int64s(rows.Size, -1), Shape{rows, last})
	}
	size := t.g.Gather(t.g.ShapeOf(x), t.g.int64s(int64(x.rank()-1)), 0)
	return t.g.ReshapeTo(x, t.g.Concat(0, t.g.int64s(-1), size), Shape{rows, last})
}

// gradVector treats vectors as the matrices into which MatMul turns them.
func (t *tape) gradVector(n *node, d cot) {
	g, a, b := t.g, n.in[0], n.in[1]
	d = t.full(d, n.out[0])
	row, col := a.rank() == 1, b.rank() == 1
	if col {
		b, d = g.Unsqueeze(b, 1), cot{g.Unsqueeze(d.v, -1), d.c}
	}
	if row {
		a, d = g.Unsqueeze(a, 0), cot{g.Unsqueeze(d.v, -2), d.c}
	}
	if t.depends(n.in[0]) {
		da := g.MatMul(d.v, g.transposeLast(b))
		t.add(n.in[0], t.asVector(t.sumTo(cot{da, d.c}, da, a), row, 0))
	}
	if t.depends(n.in[1]) {
		db := g.MatMul(g.transposeLast(a), d.v)
		t.add(n.in[1], t.asVector(t.sumTo(cot{db, d.c}, db, b), col, 1))
	}
}

func (t *tape) asVector(d cot, vector bool, axis int64) cot {
	if !vector || d.v == nil {
		return d
	}
	return cot{t.g.Squeeze(d.v, axis), d.c}
}

// y = alpha A B + beta C with A = a or aᵀ and B = b or bᵀ.
func gradGemm(t *tape, n *node, dy []cot) {
	g, a, b, y := t.g, n.in[0], n.in[1], n.out[0]
	alpha, beta := float64(n.attr("alpha").(float32)), float64(n.attr("beta").(float32))
	if len(n.in) > 2 {
		t.pass(n, 2, func() cot { return t.scale(dy[0], beta) })
	}
	if !t.depends(a) && !t.depends(b) {
		return
	}
	d := t.scale(t.full(dy[0], y), alpha)
	if d.v == nil {
		return // alpha is 0
	}
	if t.depends(a) {
		da := g.MatMul(d.v, t.orient(b, n.int("transB") == 0))
		t.add(a, cot{t.orient(da, n.int("transA") != 0), d.c})
	}
	if t.depends(b) {
		db := g.MatMul(t.orient(a, n.int("transA") == 0), d.v)
		t.add(b, cot{t.orient(db, n.int("transB") != 0), d.c})
	}
}

func (t *tape) orient(x *Value, transpose bool) *Value {
	if transpose {
		return t.g.transposeLast(x)
	}
	return x
}
