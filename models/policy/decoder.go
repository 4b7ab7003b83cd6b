package policy

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models/network"
	"pipe/onnx"
)

// excludedScore is the score of an action that a policy must never choose: an unavailable pair, or one with advice
// under l2d. It is finite, so that arithmetic on scores gives no NaN. All other scores are above ExcludedBelow.
const (
	excludedScore = -1e30
	ExcludedBelow = -1e29
)

// decoder turns the outputs of members into scores of actions, once in Go and once as a graph. A test checks that the
// two agree up to float32 rounding.
type decoder interface {
	// check reports properties of the policy that the decoder does not support.
	check(p *Policy) error
	// scores writes J(K+1) scores to dst; x has a standardised value per feature.
	scores(dst []float64, p *Policy, x []float64)
	// graph returns the values of the graph; features is batch x dim.
	graph(g *onnx.Graph, p *Policy, features *onnx.Value) values
}

// values are what a decoder computes for a batch, each batch x J(K+1).
type values struct {
	scores     *onnx.Value   // higher is better
	loss, cost *onnx.Value   // expected task loss, and that with fees; nil if the decoder does not estimate them
	usage      []*onnx.Value // by quantity of [Usage]
}

var decoders = map[Decoder]decoder{
	DecoderComposite:        decodeComposite{advice: true},
	DecoderL2D:              decodeComposite{advice: false},
	DecoderSeparated:        decodeSeparated{},
	DecoderSeparatedSoftmax: decodeSeparatedSoftmax{},
	DecoderFixed:            decodeFixed{},
	DecoderEstimate:         decodeEstimate{},
}

// argmaxFirst returns the smallest index of the largest value.
func argmaxFirst(v []float64) int {
	best := 0
	for i := range v {
		if v[i] > v[best] {
			best = i
		}
	}
	return best
}

// feesGraph are the fees of the policy's own prices, 1 x J(K+1).
func (p *Policy) feesGraph(g *onnx.Graph) *onnx.Value {
	fees := make([]float32, p.Actions.Len())
	for i, fee := range p.Actions.Fees(p.Lambda) {
		fees[i] = float32(fee)
	}
	return g.Const(onnx.Float32s([]int64{1, int64(len(fees))}, fees))
}

// memberGraphs returns the outputs of every member, batch x width.
func (p *Policy) memberGraphs(g *onnx.Graph, features *onnx.Value) []*onnx.Value {
	x := p.standardGraph(g, features)
	outputs := make([]*onnx.Value, len(p.Members))
	for i, m := range p.Members {
		outputs[i] = m.Graph(g, x, fmt.Sprintf("member%d_", i))
	}
	return outputs
}

// standardGraph returns the standardised features.
func (p *Policy) standardGraph(g *onnx.Graph, features *onnx.Value) *onnx.Value {
	s := p.Standard
	if s.Mean == nil {
		return features
	}
	row := []int64{1, int64(p.FeatureDim())}
	return g.Mul(g.Sub(features, g.NamedConst("feature_mean", onnx.Float32s(row, s.Mean))),
		g.NamedConst("feature_scale", onnx.Float32s(row, s.Scale)))
}

// outputs are those of every member for one row of standardised features.
func (p *Policy) outputs(x []float64) [][]float64 {
	out := make([][]float64, len(p.Members))
	for i, m := range p.Members {
		out[i] = m.Forward(x)
	}
	return out
}

// meanOutputs averages the members' outputs element by element.
func meanOutputs(outputs [][]float64) []float64 {
	mean := make([]float64, len(outputs[0]))
	for _, o := range outputs {
		for i, v := range o {
			mean[i] += v / float64(len(outputs))
		}
	}
	return mean
}

// meanValues is meanOutputs as a graph.
func meanValues(g *onnx.Graph, outputs []*onnx.Value) *onnx.Value {
	sum := outputs[0]
	for _, o := range outputs[1:] {
		sum = g.Add(sum, o)
	}
	if len(outputs) == 1 {
		return sum
	}
	return g.Mul(sum, g.Scalar(onnx.Float32, 1/float64(len(outputs))))
}

// excludeGraph replaces the scores of actions that allowed does not list.
func excludeGraph(g *onnx.Graph, scores *onnx.Value, allowed []bool) *onnx.Value {
	for _, ok := range allowed {
		if !ok {
			mask := g.Const(onnx.Bools([]int64{1, int64(len(allowed))}, allowed))
			return g.Where(mask, scores, g.Scalar(onnx.Float32, excludedScore))
		}
	}
	return scores
}

func exclude(scores []float64, allowed []bool) {
	for i, ok := range allowed {
		if !ok {
			scores[i] = excludedScore
		}
	}
}

// checkWidths refuses members whose last layer does not have one of the given widths.
func (p *Policy) checkWidths(widths ...int) error {
	if len(p.Members) == 0 {
		return fmt.Errorf("a %s policy needs at least one member", p.Decoder)
	}
	for i, m := range p.Members {
		if !slices.Contains(widths, m.Out()) {
			return fmt.Errorf("member %d has %d outputs, a %s policy needs %v", i, m.Out(), p.Decoder, widths)
		}
	}
	return nil
}

// Fits returns why a network with the given number of outputs cannot be trained for a decoder and actions: the decoder
// is unknown, it reads no network, or it reads another number of outputs.
func (d Decoder) Fits(a *costs.Actions, outputs int) error {
	p := &Policy{Actions: a, Decoder: d, Members: []network.MLP{{Layers: []network.Affine{{Out: outputs}}}}}
	read, err := p.decoder()
	switch {
	case err != nil:
		return err
	case d == DecoderFixed || d == DecoderEstimate:
		return fmt.Errorf("the decoder %s reads no network", d)
	}
	return read.check(p)
}

func (p *Policy) decoder() (decoder, error) {
	if d, ok := decoders[p.Decoder]; ok {
		return d, nil
	}
	known := make([]string, 0, len(decoders))
	for name := range decoders {
		known = append(known, string(name))
	}
	slices.Sort(known)
	return nil, fmt.Errorf("unknown decoder %q; known are %s", p.Decoder, strings.Join(known, ", "))
}
