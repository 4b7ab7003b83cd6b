package policy

import "pipe/costs"

// NewFixed returns the policy that always takes the action with the smallest mean cost, compared in float32; the
// smallest index on ties. meanCost has J(K+1) entries, as in costs.Summary.Cost; entries of unavailable actions do not
// count. It also orders the other actions for use when the first is masked out. dim is the width of the features, which
// the policy takes and ignores.
func NewFixed(a *costs.Actions, meanCost []float64, lambda float64, dim int) *Policy {
	p := &Policy{Actions: a, Lambda: lambda, Decoder: DecoderFixed, Dim: dim, FixedScores: make([]float64, a.Len())}
	for i, available := range a.Mask() {
		p.FixedScores[i] = excludedScore
		if available {
			p.FixedScores[i] = -meanCost[i]
		}
	}
	p.Fixed = argmaxFirst(p.fixedRow())
	return p
}
