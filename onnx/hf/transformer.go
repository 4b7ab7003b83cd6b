package hf

import (
	"math"

	"pipe/onnx"
)

// transformer builds the parts of transformer layers. Between embeddings and head, hidden states are [batch*sequence,
// hidden]: matrix products take nearly all of the time, and Gemm adds their bias for free.
type transformer struct {
	g       *onnx.Graph
	w       *weights
	prefix  string // before the names of all weights
	hidden  int64
	heads   int64
	epsilon float64
	axes    onnx.Shape  // batch and sequence
	shape   *onnx.Value // the same when the graph runs: int64 [2]
	bias    *onnx.Value // added to attention scores, which are [batch, heads, sequence, sequence]; nil: none
}

// projections are the names of the parts of attention in a checkpoint.
type projections struct{ query, key, value string }

// attention is softmax(q*k/sqrt(d) + bias) * v in every head of d dimensions.
func (t *transformer) attention(x *onnx.Value, name string, p projections) *onnx.Value {
	g, d := t.g, t.hidden/t.heads
	heads := func(part string, order ...int64) *onnx.Value {
		return g.Transpose(t.unfold(t.dense(x, name+part, t.hidden, t.hidden), t.heads, d), order...)
	}
	q, k, v := heads(p.query, 0, 2, 1, 3), heads(p.key, 0, 2, 3, 1), heads(p.value, 0, 2, 1, 3)
	scores := g.Mul(g.MatMul(q, k), g.Scalar(onnx.Float32, 1/math.Sqrt(float64(d))))
	if t.bias != nil {
		scores = g.Add(scores, t.bias)
	}
	y := g.MatMul(g.Softmax(scores, -1), v)
	return g.Reshape(g.Transpose(y, 0, 2, 1, 3), -1, t.hidden)
}

// dense is x*w' + bias; checkpoints hold w as [out, in].
func (t *transformer) dense(x *onnx.Value, name string, in, out int64) *onnx.Value {
	return t.g.Gemm(x, t.tensor(name+".weight", out, in), t.tensor(name+".bias", out), 1, 1, false, true)
}

func (t *transformer) norm(x *onnx.Value, name string) *onnx.Value {
	return t.g.LayerNormalization(x, t.tensor(name+".weight", t.hidden), t.tensor(name+".bias", t.hidden), t.epsilon)
}

func (t *transformer) tensor(name string, shape ...int64) *onnx.Value {
	return t.g.NamedConst(name, t.w.get(t.prefix+name, shape...))
}

// unfold gives x the axes batch and sequence, followed by sizes.
func (t *transformer) unfold(x *onnx.Value, sizes ...int64) *onnx.Value {
	out := append(append(onnx.Shape{}, t.axes...), onnx.Dims(sizes...)...)
	tail := t.g.Const(onnx.Int64s([]int64{int64(len(sizes))}, sizes))
	return t.g.ReshapeTo(x, t.g.Concat(0, t.shape, tail), out)
}

// first returns the first rows of a table, one per position of the sequence; shape is that of the tokens.
func (t *transformer) first(table, shape *onnx.Value) *onnx.Value {
	g := t.g
	length, zero := g.Slice(shape, []int64{1}, []int64{2}, nil, nil), g.Const(onnx.Int64s([]int64{1}, []int64{0}))
	rows := g.SliceDyn(table, zero, length, zero)
	return g.AssumeShape(rows, onnx.Shape{t.axes[1], onnx.Fix(t.hidden)})
}
