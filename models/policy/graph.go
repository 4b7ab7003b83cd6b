package policy

import (
	"errors"
	"fmt"

	"pipe/onnx"
)

// Outputs are what a policy computes for a batch within a graph. All but Action are batch x J(K+1).
type Outputs struct {
	Action     *onnx.Value // int64, batch; J(K+1) where a score is not finite
	Scores     *onnx.Value // higher is better
	Loss, Cost *onnx.Value // expected task loss, and that with fees; 1e30 for pairs that are never chosen
}

// Graph adds the policy on features, batch x FeatureDim, finite and not standardised, to a graph, for files that hold several
// policies. Of a fixed policy, what pairs cost are the means that order them. The error says why the policy is not valid,
// that it estimates no costs, or that its prices are inputs.
func (p *Policy) Graph(g *onnx.Graph, features *onnx.Value) (Outputs, error) {
	return p.GraphAt(g, features, nil, nil)
}

// GraphAt is [Policy.Graph] at prices that the graph computes: what every pair costs besides its expected loss, and which pairs may be
// chosen, both batch x J(K+1). Both nil: at the prices of the policy. Only a policy by estimates without usage can have prices of the graph.
func (p *Policy) GraphAt(g *onnx.Graph, features, fees, available *onnx.Value) (Outputs, error) {
	v, err := p.values(g, features, fees, available)
	if err != nil {
		return Outputs{}, err
	}
	out := Outputs{Action: p.actionGraph(g, v.scores), Scores: v.scores, Loss: v.loss, Cost: v.cost}
	switch {
	case p.Decoder == DecoderFixed && p.FixedScores != nil:
		out.Cost = g.Neg(v.scores)
		out.Loss = unavailable(g, g.Sub(out.Cost, p.feesGraph(g)), p.Actions.Mask())
	case v.loss == nil:
		return Outputs{}, fmt.Errorf("a policy with the decoder %s estimates no costs", p.Decoder)
	}
	return out, nil
}

// values are those of the policy at prices.
func (p *Policy) values(g *onnx.Graph, features, fees, available *onnx.Value) (values, error) {
	if err := p.Validate(); err != nil {
		return values{}, err
	}
	if fees != nil && (p.Decoder != DecoderEstimate || p.Estimate.Usage != nil) {
		return values{}, fmt.Errorf("a policy with the decoder %s, or one with usage, has no other prices than its own", p.Decoder)
	}
	if fees != nil {
		prices := graphPrices{fees: fees}
		prices.available = g.And(available, g.Const(onnx.Bools([]int64{1, int64(p.Actions.Len())}, p.Estimate.choosable(p.Actions))))
		return decodeEstimate{}.priced(g, p, features, prices), nil
	}
	if p.Estimate != nil && p.Estimate.Prices != nil {
		return values{}, errors.New("an any-price policy has inputs of its own")
	}
	d, err := p.decoder()
	if err != nil {
		return values{}, err
	}
	return d.graph(g, p, features), nil
}
