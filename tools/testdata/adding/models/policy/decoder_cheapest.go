package policy

import "pipe/onnx"

// DecoderCheapest has an estimated cost per action, expert by expert.
const DecoderCheapest Decoder = "cheapest"

// decodeCheapest takes the action with the smallest estimate.
type decodeCheapest struct{}

func (decodeCheapest) check(p *Policy) error { return p.checkWidths(p.Actions.Len()) }

func (decodeCheapest) scores(dst []float64, p *Policy, x []float64) {
	for i, v := range meanOutputs(p.outputs(x)) {
		dst[i] = -v
	}
	exclude(dst, p.Actions.Mask())
}

func (decodeCheapest) graph(g *onnx.Graph, p *Policy, features *onnx.Value) values {
	costs := meanValues(g, p.memberGraphs(g, features))
	return values{scores: excludeGraph(g, g.Neg(costs), p.Actions.Mask())}
}
