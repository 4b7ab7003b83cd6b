package onnxtest

import (
	"math"
	"slices"

	"pipe/onnx"
)

var kernels map[string]func(c call) array

func init() {
	kernels = map[string]func(c call) array{
		"MatMul": func(c call) array { return matmul(c.in[0], c.in[1]) }, "Gemm": gemm, "Transpose": transpose,
		"Reshape": reshapeKernel, "Unsqueeze": unsqueeze, "Squeeze": squeeze, "Expand": expand,
		"Concat": concat, "Slice": slice, "Pad": pad, "Gather": gather, "GatherElements": gatherElements,
		"ScatterElements": scatter, "Shape": shapeOf, "ConstantOfShape": constantOfShape, "Range": rangeKernel,
		"CumSum": cumsum, "Softmax": softmax, "LogSoftmax": softmax, "ArgMax": argmax, "OneHot": oneHot,
		"ReduceSum":       func(c call) array { return c.reduce(0, func(a, x float64) float64 { return a + x }) },
		"ReduceSumSquare": func(c call) array { return c.reduce(0, func(a, x float64) float64 { return a + x*x }) },
		"ReduceProd":      func(c call) array { return c.reduce(1, func(a, x float64) float64 { return a * x }) },
		"ReduceMax":       func(c call) array { return c.reduce(math.Inf(-1), func(a, x float64) float64 { return max(a, x) }) },
		"ReduceMin":       func(c call) array { return c.reduce(math.Inf(1), func(a, x float64) float64 { return min(a, x) }) },
		"ReduceMean":      reduceMean, "LayerNormalization": layerNormalization,
	}
}

// move fills a new shape element by element from positions of x.
func move(x array, shape []int, from func(at []int) []int) array {
	out, i := newArray(x.t, shape), 0
	each(shape, func(at []int) {
		out.v[i] = x.v[index(from(at), x.shape)]
		i++
	})
	return out
}

func matmul(a, b array) array {
	row, col := len(a.shape) == 1, len(b.shape) == 1
	if row {
		a.shape = []int{1, a.shape[0]}
	}
	if col {
		b.shape = []int{b.shape[0], 1}
	}
	n, k, m := a.shape[len(a.shape)-2], a.shape[len(a.shape)-1], b.shape[len(b.shape)-1]
	lead := stretch(a.shape[:len(a.shape)-2], b.shape[:len(b.shape)-2])
	out, i := newArray(a.t, append(slices.Clone(lead), n, m)), 0
	each(out.shape, func(at []int) {
		p, q := slices.Clone(at), slices.Clone(at)
		for j := range k {
			p[len(p)-1], q[len(q)-2] = j, j
			out.v[i] += a.v[index(p, a.shape)] * b.v[index(q, b.shape)]
		}
		i++
	})
	out.shape = lead
	if !row {
		out.shape = append(out.shape, n)
	}
	if !col {
		out.shape = append(out.shape, m)
	}
	return out
}

func gemm(c call) array {
	flip := func(x array, name string) array {
		if c.attr(name).GetI() == 0 {
			return x
		}
		return move(x, []int{x.shape[1], x.shape[0]}, func(at []int) []int { return []int{at[1], at[0]} })
	}
	y := matmul(flip(c.in[0], "transA"), flip(c.in[1], "transB"))
	for i := range y.v {
		y.v[i] *= float64(c.attr("alpha").GetF())
	}
	if len(c.in) < 3 {
		return y
	}
	i := 0
	each(y.shape, func(at []int) {
		y.v[i] += float64(c.attr("beta").GetF()) * c.in[2].v[index(at, c.in[2].shape)]
		i++
	})
	return y
}

func transpose(c call) array {
	x, perm := c.in[0], c.attr("perm").GetInts()
	shape := make([]int, len(perm))
	for i, p := range perm {
		shape[i] = x.shape[p]
	}
	return move(x, shape, func(at []int) []int {
		from := make([]int, len(at))
		for i, p := range perm {
			from[p] = at[i]
		}
		return from
	})
}

func reshapeKernel(c call) array {
	x, rest := c.in[0], -1
	shape := make([]int, len(c.in[1].v))
	for i, n := range c.in[1].ints() {
		shape[i] = int(n)
		if n == 0 {
			shape[i] = x.shape[i]
		}
		if n == -1 {
			rest, shape[i] = i, 1
		}
	}
	if rest >= 0 {
		shape[rest] = len(x.v) / volume(shape)
	}
	if volume(shape) != len(x.v) {
		panic("evaluator: reshape")
	}
	return array{x.t, shape, x.v}
}

func (c call) axesOf(rank int) []int {
	list := c.attr("axes").GetInts()
	if len(c.in) > 1 {
		list = c.in[1].ints()
	}
	var out []int
	for _, a := range list {
		if a < 0 {
			a += int64(rank)
		}
		out = append(out, int(a))
	}
	return out
}

func unsqueeze(c call) array {
	x := c.in[0]
	axes := c.axesOf(0)
	shape := slices.Clone(x.shape)
	for _, a := range axes {
		shape = slices.Insert(shape, a, 1)
	}
	return array{x.t, shape, x.v}
}

func squeeze(c call) array {
	x := c.in[0]
	axes := c.axesOf(len(x.shape))
	var shape []int
	for i, d := range x.shape {
		if !slices.Contains(axes, i) {
			shape = append(shape, d)
		} else if d != 1 {
			panic("evaluator: squeeze")
		}
	}
	return array{x.t, shape, x.v}
}

func expand(c call) array {
	shape := make([]int, len(c.in[1].v))
	for i, n := range c.in[1].ints() {
		shape[i] = int(n)
	}
	return move(c.in[0], stretch(c.in[0].shape, shape), func(at []int) []int { return at })
}

func concat(c call) array {
	axis, shape := c.axis(), slices.Clone(c.in[0].shape)
	for _, x := range c.in[1:] {
		shape[axis] += x.shape[axis]
	}
	out, i := newArray(c.in[0].t, shape), 0
	each(shape, func(at []int) {
		from, k := slices.Clone(at), 0
		for from[axis] >= c.in[k].shape[axis] {
			from[axis] -= c.in[k].shape[axis]
			k++
		}
		x := c.in[k]
		p := 0
		for d, s := range strides(x.shape) {
			p += from[d] * s
		}
		out.v[i] = x.v[p]
		i++
	})
	return out
}

func (c call) split() []array {
	x, axis, start := c.in[0], c.axis(), 0
	var out []array
	for _, n := range c.in[1].ints() {
		shape := slices.Clone(x.shape)
		shape[axis] = int(n)
		at0 := start
		out = append(out, move(x, shape, func(at []int) []int {
			from := slices.Clone(at)
			from[axis] += at0
			return from
		}))
		start += int(n)
	}
	if start != x.shape[axis] {
		panic("evaluator: split")
	}
	return out
}

func slice(c call) array {
	x := c.in[0]
	shape, first, step := slices.Clone(x.shape), make([]int, len(x.shape)), make([]int, len(x.shape))
	for i := range step {
		step[i] = 1
	}
	for i, a := range c.in[3].ints() {
		if a < 0 {
			a += int64(len(x.shape))
		}
		n, s := int64(x.shape[a]), int64(1)
		if len(c.in) > 4 {
			s = c.in[4].ints()[i]
		}
		start, end := c.in[1].ints()[i], c.in[2].v[i]
		if start < 0 {
			start += n
		}
		if end < 0 {
			end += float64(n)
		}
		// Follows the definition step by step instead of a formula.
		start = min(max(start, 0), n-truthInt(s < 0))
		first[a], step[a], shape[a] = int(start), int(s), 0
		for p := start; p >= 0 && p < n && (s > 0 && float64(p) < end || s < 0 && float64(p) > end); p += s {
			shape[a]++
		}
	}
	return move(x, shape, func(at []int) []int {
		from := make([]int, len(at))
		for i := range at {
			from[i] = first[i] + at[i]*step[i]
		}
		return from
	})
}

func truthInt(b bool) int64 { return int64(truth(b)) }

func pad(c call) array {
	x, pads := c.in[0], c.in[1].ints()
	shape, r := slices.Clone(x.shape), len(x.shape)
	for i := range shape {
		shape[i] += int(pads[i] + pads[r+i])
	}
	out, to := newArray(x.t, shape), strides(shape)
	i := 0
	each(x.shape, func(at []int) {
		p := 0
		for d := range at {
			p += (at[d] + int(pads[d])) * to[d]
		}
		out.v[p] = x.v[i]
		i++
	})
	return out
}

func wrap(i float64, n int) int {
	if i < 0 {
		i += float64(n)
	}
	if i < 0 || i >= float64(n) {
		panic("evaluator: index out of range")
	}
	return int(i)
}

func gather(c call) array {
	x, ids, axis := c.in[0], c.in[1], c.axis()
	shape := slices.Concat(x.shape[:axis], ids.shape, x.shape[axis+1:])
	r := len(ids.shape)
	return move(x, shape, func(at []int) []int {
		i := wrap(ids.v[index(at[axis:axis+r], ids.shape)], x.shape[axis])
		return slices.Concat(at[:axis], []int{i}, at[axis+r:])
	})
}

func gatherElements(c call) array {
	x, ids, axis := c.in[0], c.in[1], c.axis()
	return move(x, ids.shape, func(at []int) []int {
		from := slices.Clone(at)
		from[axis] = wrap(ids.v[index(at, ids.shape)], x.shape[axis])
		return from
	})
}

func scatter(c call) array {
	x, ids, axis := c.in[0], c.in[1], c.axis()
	if string(c.attr("reduction").GetS()) != "add" {
		panic("evaluator: scatter without add")
	}
	out, to, i := array{x.t, x.shape, slices.Clone(x.v)}, strides(x.shape), 0
	each(ids.shape, func(at []int) {
		p := 0
		for d := range at {
			if d == axis {
				p += wrap(ids.v[i], x.shape[axis]) * to[d]
			} else {
				p += at[d] * to[d]
			}
		}
		out.v[p] += c.in[2].v[i]
		i++
	})
	return out
}

func shapeOf(c call) array {
	out := newArray(onnx.Int64, []int{len(c.in[0].shape)})
	for i, d := range c.in[0].shape {
		out.v[i] = float64(d)
	}
	return out
}

func constantOfShape(c call) array {
	t, err := onnx.TensorFrom(c.attr("value").GetT())
	if err != nil {
		panic(err)
	}
	x := fromTensor(t)
	shape := make([]int, len(c.in[0].v))
	for i, n := range c.in[0].ints() {
		shape[i] = int(n)
	}
	out := newArray(x.t, shape)
	for i := range out.v {
		out.v[i] = x.v[0]
	}
	return out
}

func rangeKernel(c call) array {
	out := array{t: c.in[0].t}
	for v := c.in[0].v[0]; v < c.in[1].v[0]; v += c.in[2].v[0] {
		out.v = append(out.v, v)
	}
	out.shape = []int{len(out.v)}
	return out
}

func cumsum(c call) array {
	x, axis := c.in[0], int(c.in[1].v[0])
	out, i := newArray(x.t, x.shape), 0
	each(x.shape, func(at []int) {
		from := slices.Clone(at)
		for j := range x.shape[axis] {
			before := j <= at[axis]
			if c.attr("reverse").GetI() != 0 {
				before = j >= at[axis]
			}
			if c.attr("exclusive").GetI() != 0 && j == at[axis] {
				before = false
			}
			from[axis] = j
			out.v[i] += truth(before) * x.v[index(from, x.shape)]
		}
		i++
	})
	return out
}

func softmax(c call) array {
	x, axis := c.in[0], c.axis()
	out, i := newArray(x.t, x.shape), 0
	each(x.shape, func(at []int) {
		sum, from := 0.0, slices.Clone(at)
		for j := range x.shape[axis] {
			from[axis] = j
			sum += math.Exp(x.v[index(from, x.shape)])
		}
		out.v[i] = math.Exp(x.v[i]) / sum
		if c.GetOpType() == "LogSoftmax" {
			out.v[i] = math.Log(out.v[i])
		}
		i++
	})
	return out
}

func layerNormalization(c call) array {
	x, n := c.in[0], c.in[0].shape[len(c.in[0].shape)-1]
	out := newArray(x.t, x.shape)
	for at := 0; at < len(x.v); at += n {
		mean, square := 0.0, float64(c.attr("epsilon").GetF())
		for _, v := range x.v[at : at+n] {
			mean += v / float64(n)
		}
		for _, v := range x.v[at : at+n] {
			square += (v - mean) * (v - mean) / float64(n)
		}
		for i := range n {
			out.v[at+i] = (x.v[at+i]-mean)/math.Sqrt(square)*c.in[1].v[i] + c.in[2].v[i]
		}
	}
	return out
}

func argmax(c call) array {
	x, axis := c.in[0], c.axis()
	shape := slices.Clone(x.shape)
	shape[axis] = 1
	out, i := newArray(onnx.Int64, shape), 0
	each(shape, func(at []int) {
		best, from := math.Inf(-1), slices.Clone(at)
		for j := range x.shape[axis] {
			from[axis] = j
			if v := x.v[index(from, x.shape)]; v > best {
				best, out.v[i] = v, float64(j)
			}
		}
		i++
	})
	if c.attr("keepdims").GetI() == 0 {
		out.shape = slices.Delete(out.shape, axis, axis+1)
	}
	return out
}

func oneHot(c call) array {
	ids, depth, values := c.in[0], int(c.in[1].v[0]), c.in[2]
	out, i := newArray(values.t, append(slices.Clone(ids.shape), depth)), 0
	each(out.shape, func(at []int) {
		hit := int(ids.v[i/depth]) == at[len(at)-1]
		out.v[i] = values.v[truthInt(hit)]
		i++
	})
	return out
}

func (c call) reduce(start float64, f func(a, x float64) float64) array {
	x := c.in[0]
	axes := c.axesOf(len(x.shape))
	kept, dropped := slices.Clone(x.shape), []int(nil)
	for i := range kept {
		if slices.Contains(axes, i) {
			kept[i] = 1
		} else {
			dropped = append(dropped, x.shape[i])
		}
	}
	out := newArray(x.t, kept)
	for i := range out.v {
		out.v[i] = start
	}
	i := 0
	each(x.shape, func(at []int) {
		p := index(at, kept)
		out.v[p] = f(out.v[p], x.v[i])
		i++
	})
	if c.attr("keepdims").GetI() == 0 {
		out.shape = dropped
	}
	return out
}

func reduceMean(c call) array {
	out := c.reduce(0, func(a, x float64) float64 { return a + x })
	n := float64(len(c.in[0].v)) / float64(len(out.v))
	for i := range out.v {
		out.v[i] /= n
	}
	return out
}
