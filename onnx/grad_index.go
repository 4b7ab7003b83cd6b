package onnx

import "slices"

func gradConcat(t *tape, n *node, dy []cot) {
	axis, d := int(n.int("axis")), t.ranked(dy[0], n.out[0].rank())
	if d.v == nil || d.v.dim(axis).isOne() && !n.out[0].dim(axis).isOne() {
		// All pieces have the same cotangent.
		for _, x := range n.in {
			if t.depends(x) {
				t.add(x, d)
			}
		}
		return
	}
	for i, piece := range t.cut(d.v, n.in, axis) {
		if piece != nil {
			t.add(n.in[i], cot{piece, d.c})
		}
	}
}

// cut splits v along the axis into parts of the given lengths; nil for parts whose gradient is not needed.
func (t *tape) cut(v *Value, parts []*Value, axis int) []*Value {
	out, starts, wanted := make([]*Value, len(parts)), []int64{0}, []int(nil)
	sizes, known := make([]int64, len(parts)), true
	for i, x := range parts {
		sizes[i], known = x.dim(axis).Size, known && x.dim(axis).Known()
		starts = append(starts, starts[i]+sizes[i])
		if t.depends(x) {
			wanted = append(wanted, i)
		}
	}
	if known && len(wanted) == 1 && len(parts) > 1 {
		i := wanted[0]
		out[i] = t.g.Slice(v, starts[i:i+1], starts[i+1:i+2], []int64{int64(axis)}, nil)
		return out
	}
	pieces := t.splitLike(v, parts, axis, sizes, known)
	for _, i := range wanted {
		out[i] = pieces[i]
	}
	return out
}

func (t *tape) splitLike(v *Value, parts []*Value, axis int, sizes []int64, known bool) []*Value {
	if known {
		return t.g.Split(v, int64(axis), sizes...)
	}
	var lengths, out []*Value
	for _, x := range parts {
		lengths = append(lengths, t.g.Gather(t.g.ShapeOf(x), t.g.int64s(int64(axis)), 0))
		s := slices.Clone(v.shape)
		s[axis] = x.dim(axis)
		out = append(out, &Value{dtype: v.dtype, shape: s})
	}
	return t.g.emitMany("Split", []*Value{v, t.g.Concat(0, lengths...)}, out, attr{"axis", int64(axis)})
}

// gradSplit joins the cotangents. A sign that all pieces share is factored out.
func gradSplit(t *tape, n *node, dy []cot) {
	axis, sign := n.int("axis"), 1.0
	if !slices.ContainsFunc(dy, func(d cot) bool { return d.v == nil || d.c > 0 }) {
		sign = -1
	}
	parts := make([]*Value, len(dy))
	for i, d := range dy {
		parts[i] = t.value(cot{d.v, d.c * sign}, n.out[i])
	}
	t.add(n.in[0], cot{t.g.sameAs(t.g.Concat(axis, parts...), n.in[0]), sign})
}

// gradSlice pads with zeros if the bounds of the slice are known, else it scatters to the positions of the elements
// taken.
func gradSlice(t *tape, n *node, dy []cot) {
	x, y := n.in[0], n.out[0]
	d := t.full(dy[0], y)
	if before, after, ok := slicePads(n); ok {
		t.add(x, cot{t.g.Pad(d.v, before, after), d.c})
		return
	}
	g := t.g
	count := g.ReduceProd(g.ShapeOf(x), true)
	all := g.Range(g.Scalar(Int64, 0), g.Squeeze(count, 0), g.Scalar(Int64, 1))
	where := slices.Clone(n.in)
	where[0] = g.ReshapeTo(all, g.ShapeOf(x), x.shape)
	taken := g.emit("Slice", where, Int64, y.shape)
	zeros := g.zerosOf(count, all.shape, x.dtype)
	flat := g.scatterAdd(zeros, t.line(taken), t.line(d.v), 0)
	t.add(x, cot{g.reshapeLike(flat, x), d.c})
}

// line is x as a vector.
func (t *tape) line(x *Value) *Value {
	return t.g.emit("Reshape", []*Value{x, t.g.int64s(-1)}, x.dtype, Shape{product(x.shape)})
}

// slicePads gives the number of elements that a slice omits on both sides of each axis; ok is false if they are not
// known or not contiguous.
func slicePads(n *node) (before, after []int64, ok bool) {
	x := n.in[0]
	args := make([][]int64, 4)
	for i := range args {
		if i+1 >= len(n.in) || n.in[i+1].base().init == nil {
			return nil, nil, false
		}
		args[i] = n.in[i+1].base().init.Int64s()
	}
	before, after = make([]int64, x.rank()), make([]int64, x.rank())
	for i, a := range args[2] {
		at, err := x.shape.axis(a)
		if err != nil || !x.dim(at).Known() || args[3][i] != 1 {
			return nil, nil, false
		}
		size := x.dim(at).Size
		start := args[0][i]
		if start < 0 {
			start += size
		}
		before[at] = min(max(start, 0), size)
		after[at] = size - before[at] - n.out[0].dim(at).Size
	}
	return before, after, true
}

func gradPad(t *tape, n *node, dy []cot) {
	x := n.in[0]
	pads := n.in[1].base().init
	if dy[0].v == nil {
		t.add(x, dy[0])
		return
	}
	d, p := t.full(dy[0], n.out[0]), pads.Int64s()
	starts, ends := p[:x.rank()], make([]int64, x.rank())
	for i := range ends {
		ends[i] = toEnd
		if after := p[x.rank()+i]; after > 0 {
			ends[i] = -after
		}
	}
	v := t.g.Slice(d.v, starts, ends, nil, nil)
	t.add(x, cot{t.g.AssumeShape(v, x.shape), d.c})
}

// gradGather adds the rows of dy at the positions that they were taken from.
func gradGather(t *tape, n *node, dy []cot) {
	x, index, axis := n.in[0], n.in[1], int(n.int("axis"))
	g := t.g
	d := t.full(dy[0], n.out[0])
	// One axis for all indices instead of the axes of indices.
	taken := t.line(index)
	s := slices.Concat(x.shape[:axis], taken.shape, x.shape[axis+1:])
	rows := d.v
	if index.rank() != 1 {
		rows = t.mergeAxes(rows, axis, index.rank(), s)
	}
	var spread []int64
	for i := range s {
		if i != axis {
			spread = append(spread, int64(i))
		}
	}
	where := g.ExpandLike(g.Unsqueeze(taken, spread...), rows)
	zeros := g.ExpandLike(g.Scalar(x.dtype, 0), x)
	t.add(x, cot{g.scatterAdd(zeros, where, rows, int64(axis)), d.c})
}

// mergeAxes merges n axes from the given one on into one.
func (t *tape) mergeAxes(x *Value, axis, n int, out Shape) *Value {
	sizes := make([]int64, len(out))
	for i, d := range out {
		switch {
		case i == axis:
			sizes[i] = -1
		case d.Known():
			sizes[i] = d.Size
		case i < axis:
			sizes[i] = 0
		default:
			return t.mergeDynamic(x, axis, n, out)
		}
	}
	return t.g.ReshapeTo(x, t.g.int64s(sizes...), out)
}

func (t *tape) mergeDynamic(x *Value, axis, n int, out Shape) *Value {
	var sizes []*Value
	shape := t.g.ShapeOf(x)
	for i := range out {
		j := i
		if i > axis {
			j = i + n - 1
		}
		size := t.g.int64s(-1)
		if i != axis {
			size = t.g.Gather(shape, t.g.int64s(int64(j)), 0)
		}
		sizes = append(sizes, size)
	}
	return t.g.ReshapeTo(x, t.g.Concat(0, sizes...), out)
}

func gradGatherElements(t *tape, n *node, dy []cot) {
	x, d := n.in[0], t.full(dy[0], n.out[0])
	zeros := t.g.ExpandLike(t.g.Scalar(x.dtype, 0), x)
	t.add(x, cot{t.g.scatterAdd(zeros, n.in[1], d.v, n.int("axis")), d.c})
}
