package policy

import (
	"math"
	"slices"

	"pipe/models/network"
	"pipe/onnx"
)

// decodeComposite scores actions by the mean over members of their log-softmax. With advice false it is l2d, which has
// only actions without advice.
type decodeComposite struct {
	advice bool
}

func (c decodeComposite) check(p *Policy) error {
	if c.advice {
		return p.checkWidths(p.Actions.Len())
	}
	if !slices.Contains(c.allowed(p), true) {
		return errNoPlainAction
	}
	return p.checkWidths(len(p.Actions.Experts), p.Actions.Len())
}

// allowed lists the actions that the policy may choose.
func (c decodeComposite) allowed(p *Policy) []bool {
	allowed := p.Actions.Mask()
	for i := range allowed {
		if _, k := p.Actions.Pair(i); k != 0 && !c.advice {
			allowed[i] = false
		}
	}
	return allowed
}

func (c decodeComposite) scores(dst []float64, p *Policy, x []float64) {
	allowed, outputs := c.allowed(p), p.outputs(x)
	row := make([]float64, len(dst))
	clear(dst)
	for _, o := range outputs {
		levels := len(p.Actions.Advice)
		for i := range row {
			switch {
			case !allowed[i]:
				row[i] = math.Inf(-1)
			case len(o) == len(row):
				row[i] = o[i]
			default:
				row[i] = o[i/levels]
			}
		}
		network.LogSoftmax(row)
		for i, v := range row {
			dst[i] += v / float64(len(outputs))
		}
	}
	exclude(dst, allowed)
}

// graph masks before the softmax, so that probabilities are over the allowed actions, and after the mean, so that the
// excluded score is exact.
func (c decodeComposite) graph(g *onnx.Graph, p *Policy, features *onnx.Value) values {
	allowed, outputs := c.allowed(p), p.memberGraphs(g, features)
	logs := make([]*onnx.Value, len(outputs))
	for i, o := range outputs {
		o = c.widen(g, p, p.Members[i].Out(), o)
		logs[i] = g.LogSoftmax(excludeGraph(g, o, allowed), 1)
	}
	return values{scores: excludeGraph(g, meanValues(g, logs), allowed)}
}

// widen repeats a column per expert over its advice levels. The mask then drops all but the first.
func (c decodeComposite) widen(g *onnx.Graph, p *Policy, width int, o *onnx.Value) *onnx.Value {
	a := p.Actions.Len()
	if width == a {
		return o
	}
	from := make([]int64, a)
	for i := range from {
		j, _ := p.Actions.Pair(i)
		from[i] = int64(j)
	}
	return g.Gather(o, g.Const(onnx.Int64s([]int64{int64(a)}, from)), 1)
}
