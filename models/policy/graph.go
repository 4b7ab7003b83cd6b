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
	return GraphAt(g, features, []Priced{{Policy: p}})
}

// Priced is a policy within a graph at prices that the graph computes: what every pair costs besides its expected loss, and which pairs
// may be chosen, both batch x J(K+1). Both nil: at the prices of the policy.
type Priced struct {
	Policy          *Policy
	Fees, Available *onnx.Value
}

// GraphAt adds several policies on the same features, as [Policy.Graph] does, and decides by the best that one of them says of every
// pair: the largest of their scores, and the smallest of their losses and costs. Only policies by estimates can have prices of the graph,
// or be together with others.
func GraphAt(g *onnx.Graph, features *onnx.Value, all []Priced) (out Outputs, err error) {
	var v values
	if len(all) > 1 {
		g.MergeConstants()
	}
	for n, of := range all {
		prefix := ""
		if n > 0 {
			prefix = fmt.Sprintf("policy%d_", n)
		}
		next, err := of.values(g, features, prefix, len(all) > 1)
		if err != nil {
			return Outputs{}, err
		}
		if n > 0 {
			next = values{scores: g.Max(v.scores, next.scores), loss: g.Min(v.loss, next.loss), cost: g.Min(v.cost, next.cost)}
		}
		v = next
	}
	p := all[0].Policy
	out = Outputs{Action: p.actionGraph(g, v.scores), Scores: v.scores, Loss: v.loss, Cost: v.cost}
	switch {
	case p.Decoder == DecoderFixed && p.FixedScores != nil:
		out.Cost = g.Neg(v.scores)
		out.Loss = unavailable(g, g.Sub(out.Cost, p.feesGraph(g)), p.Actions.Mask())
	case v.loss == nil:
		return Outputs{}, fmt.Errorf("a policy with the decoder %s estimates no costs", p.Decoder)
	}
	return out, nil
}

// values are those of the policy at its prices, with constants of names with a prefix.
func (of Priced) values(g *onnx.Graph, features *onnx.Value, prefix string, estimates bool) (values, error) {
	p := of.Policy
	if err := p.Validate(); err != nil {
		return values{}, err
	}
	if (estimates || of.Fees != nil) && (p.Decoder != DecoderEstimate || p.Estimate.Usage != nil) {
		return values{}, fmt.Errorf("a policy with the decoder %s, or one with usage, has no other prices than its own", p.Decoder)
	}
	if of.Fees != nil {
		prices := graphPrices{fees: of.Fees}
		prices.available = g.And(of.Available, g.Const(onnx.Bools([]int64{1, int64(p.Actions.Len())}, p.Estimate.choosable(p.Actions))))
		return decodeEstimate{}.priced(g, p, features, prices, prefix), nil
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
