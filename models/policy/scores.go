package policy

import (
	"fmt"

	"pipe/internal/finite"
)

// Scores writes the scores of one row to dst, J(K+1) values, higher is better. x
// has FeatureDim values, not standardised. It is the Go reference of the exported
// graph, in float64. The policy must be valid: see [Policy.Validate]. Slices of another length, and a feature that is NaN
// or infinite, are an error.
func (p *Policy) Scores(dst []float64, x []float32) error {
	d, err := p.decoder()
	switch {
	case err != nil:
		return fmt.Errorf("policy: %w", err)
	case len(x) != p.FeatureDim():
		return fmt.Errorf("policy: %d features, it takes %d", len(x), p.FeatureDim())
	case len(dst) != p.Actions.Len():
		return fmt.Errorf("policy: room for %d scores, it has %d actions", len(dst), p.Actions.Len())
	}
	if i := finite.First(x); i >= 0 {
		return fmt.Errorf("policy: feature %d is %v", i, x[i])
	}
	in := make([]float64, len(x))
	for c, v := range x {
		in[c] = float64(v)
		if p.Standard.Mean != nil {
			in[c] = (in[c] - float64(p.Standard.Mean[c])) * float64(p.Standard.Scale[c])
		}
	}
	d.scores(dst, p, in)
	return nil
}

// Decide returns the action for one row: the largest of [Policy.Scores], the smallest index on ties. A [Decider] is
// faster and runs the file itself. The errors are those of Scores.
func (p *Policy) Decide(x []float32) (int, error) {
	scores := make([]float64, p.Actions.Len())
	if err := p.Scores(scores, x); err != nil {
		return 0, err
	}
	return argmaxFirst(scores), nil
}
