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
	ids := g.Input("input_ids", onnx.Int64, axes)
	mask := g.Cast(g.Input("attention_mask", onnx.Int64, axes), onnx.Float32)
	table := make([]float32, len(rows.data))
	for i, v := range rows.data {
		table[i] = float32(v)
	}
	weights := mask
	if sublinear {
		weights = g.Mul(mask, sublinearWeights(g, ids, mask))
	}
	vectors := g.Gather(g.NamedConst("tokens", onnx.Float32s([]int64{int64(rows.rows), int64(rows.width)}, table)), ids, 0)
	// A matrix product adds in the same order for every batch.
	sum := g.Squeeze(g.MatMul(g.Unsqueeze(weights, 1), vectors), 1)
	out := (&hf.Head{Pooling: hf.PoolModel, Normalize: true}).Apply(g, sum, nil)
	if f != nil {
		out = g.Concat(1, out, f.graph(g, ids, mask))
	}
	g.Output(hf.SentenceEmbedding, out)
	return g.Build(onnx.BuildOptions{})
}

// sublinearWeights are (1 + ln c)/c for the token at each place, [batch, sequence].
func sublinearWeights(g *onnx.Graph, ids, mask *onnx.Value) *onnx.Value {
	same := g.Cast(g.Equal(g.Unsqueeze(ids, 2), g.Unsqueeze(ids, 1)), onnx.Float32)
	count := g.Squeeze(g.MatMul(same, g.Unsqueeze(mask, 2)), 2)
	unit := g.Scalar(onnx.Float32, 1)
	count = g.Max(count, unit) // of padding it may be 0
	return g.Div(g.Add(g.Log(count), unit), count)
}
