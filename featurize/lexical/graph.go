package lexical

import (
	"pipe/onnx"
	"pipe/onnx/hf"
)

// newGraph is the encoder: token ids and a mask of 0 and 1, int64 [batch, sequence], to vectors [batch, dim]. f is nil
// without facts.
//
// A token that is in the text c times has the weight (1 + ln c)/c at each of its places. The vector is the sum of the
// weighted rows, scaled to length 1; it is 0 where the sum is.
func newGraph(rows block, f *facts, sublinear bool) (*onnx.Model, error) {
	g := onnx.NewGraph("encoder")
	axes := onnx.Shape{onnx.Sym("batch"), onnx.Sym("sequence")}
	ids, mask := g.Input("input_ids", onnx.Int64, axes), g.Input("attention_mask", onnx.Int64, axes)
	here := g.Unsqueeze(g.Cast(mask, onnx.Float32), 1) // [batch, 1, sequence]
	weights := here
	if sublinear {
		weights = g.Mul(here, sublinearWeights(g, ids, here))
	}
	table := make([]float32, len(rows.data))
	for i, v := range rows.data {
		table[i] = float32(v)
	}
	vectors := g.Gather(g.NamedConst("tokens", onnx.Float32s([]int64{int64(rows.rows), int64(rows.width)}, table)), ids, 0)
	// Matrix products add in the same order for every batch, so that a vector does not depend on the other texts.
	sum := g.MatMul(weights, vectors) // [batch, 1, dim]
	length := g.Sqrt(g.MatMul(sum, g.Transpose(sum, 0, 2, 1)))
	out := g.Squeeze(g.Div(sum, g.Max(length, g.Scalar(onnx.Float32, 1e-12))), 1)
	if f != nil {
		out = g.Concat(1, out, f.graph(g, ids, here))
	}
	g.Output(hf.SentenceEmbedding, out)
	return g.Build(onnx.BuildOptions{})
}

// sublinearWeights are (1 + ln c)/c for the token at each place. here and the result are [batch, 1, sequence].
func sublinearWeights(g *onnx.Graph, ids, here *onnx.Value) *onnx.Value {
	same := g.Cast(g.Equal(g.Unsqueeze(ids, 2), g.Unsqueeze(ids, 1)), onnx.Float32)
	unit := g.Scalar(onnx.Float32, 1)
	count := g.Max(g.MatMul(here, same), unit) // of padding it may be 0
	return g.Div(g.Add(g.Log(count), unit), count)
}
