package onnx

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
