package policy

import "pipe/onnx"

// DecoderCheapest has an estimated cost per action, expert by expert.
const DecoderCheapest Decoder = "cheapest"

// decodeCheapest takes the action with the smallest estimate.
type decodeCheapest struct{}

func (decodeCheapest) check(p *Policy) error { return p.checkWidths(p.Actions.Len()) }

func (decodeCheapest) scores(dst []float64, p *Policy, outputs [][]float64) {
	for i, v := range meanOutputs(outputs) {
		dst[i] = -v
	}
	exclude(dst, p.Actions.Mask())
}

func (decodeCheapest) graph(g *onnx.Graph, p *Policy, _ *onnx.Value, outputs []*onnx.Value) *onnx.Value {
	return excludeGraph(g, g.Neg(meanValues(g, outputs)), p.Actions.Mask())
}
