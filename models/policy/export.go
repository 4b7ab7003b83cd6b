package policy

import (
	"fmt"

	"pipe/onnx"
)

// Export builds the policy file: one graph of ONNX operators from raw features to scores and decisions, with
// everything about the policy in its metadata. The same policy gives the same bytes.
//
// The action is the smallest index of the largest score, on every runtime. It is not computed by ArgMax, whose result
// on ties depends on the kernel. If a feature or a score is NaN or infinite, the action is J(K+1), one past the last, so
// invalid input remains visible. A fixed policy ignores the features.
func (p *Policy) Export() (*onnx.Model, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("export policy: %w", err)
	}
	d, err := p.decoder()
	if err != nil {
		return nil, fmt.Errorf("export policy: %w", err)
	}
	g := onnx.NewGraph("policy")
	features := g.Input(FeaturesInput, onnx.Float32, onnx.Shape{onnx.Sym("batch"), onnx.Fix(int64(p.FeatureDim()))})
	v := d.graph(g, p, features)
	action := p.actionGraph(g, v.scores, features)
	levels := g.Scalar(onnx.Int64, float64(len(p.Actions.Advice)))
	expert := g.Div(action, levels)
	g.Output(ActionOutput, action)
	g.Output(ExpertOutput, expert)
	g.Output(AdviceOutput, g.Sub(action, g.Mul(expert, levels)))
	g.Output(ScoresOutput, v.scores)
	if v.loss != nil {
		g.Output(LossOutput, v.loss)
		g.Output(CostOutput, v.cost)
	}
	for n, usage := range v.usage {
		g.Output(UsageOutput(p.Estimate.Usage.Quantities[n]), usage)
	}
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, fmt.Errorf("export policy: %w", err)
	}
	m.SetMetadata(p.metadata())
	return m, nil
}

// actionGraph returns the smallest index of the largest score, int64, batch. Indices are float32 in between, which
// every provider can reduce and which represents them exactly: costs.Actions allows 2^20 actions, float32 2^24. It is
// J(K+1) in rows where a score or one of the inputs, batch x any width, is not finite: a runtime may skip NaN when it looks
// for the largest score, and estimates by trees are finite where a feature is NaN.
func (p *Policy) actionGraph(g *onnx.Graph, scores *onnx.Value, inputs ...*onnx.Value) *onnx.Value {
	if p.Decoder != DecoderFixed {
		all := scores
		if len(inputs) > 0 {
			all = g.Concat(1, append(inputs, scores)...)
		}
		scores = g.Add(scores, nanMark(g, all))
	}
	n := p.Actions.Len()
	index := make([]float32, n)
	for i := range index {
		index[i] = float32(i)
	}
	best := g.Equal(scores, g.ReduceMax(scores, true, 1))
	candidates := g.Where(best, g.Const(onnx.Float32s([]int64{1, int64(n)}, index)), g.Scalar(onnx.Float32, float64(n)))
	return g.Cast(g.ReduceMin(candidates, false, 1), onnx.Int64)
}
