package policy

import "pipe/costs"

// NewFixed is the policy that always takes the action with the smallest
// mean cost in float32 (smallest index on ties). meanCost has one entry per action, +Inf
// where unavailable, as costs.Summary.Cost gives it; it also orders the other
// actions for when the first is masked out. dim is the width of the features,
// which such a policy takes and ignores.
func NewFixed(a *costs.Actions, meanCost []float64, lambda float64, dim int) *Policy {
	p := &Policy{Actions: a, Lambda: lambda, Decoder: DecoderFixed, Dim: dim, FixedScores: make([]float64, a.Len())}
	for i, available := range a.Mask() {
		p.FixedScores[i] = ExcludedScore
		if available {
			p.FixedScores[i] = -meanCost[i]
		}
	}
	p.Fixed = argmaxFirst(p.fixedRow())
	return p
}
