package fromlog

import (
	"fmt"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// Anew makes the features of decisions anew from their texts, in place of those in the log. Propensities and outcomes stay: they
// are about pairs, whatever a policy saw.
type Anew struct {
	Features costs.FeatureSource                                 // what Encode makes
	Digest   string                                              // of what makes them, see costs.FeatureDigest
	Text     func(d decisionlog.Decision) (text string, ok bool) // of a decision; ok is false if it was not kept
	Encode   func(dst []float32, text string) error              // dst has Features.Dim values
}

// again returns the decision with new features. ok is false if its text is not known.
func (a *Anew) again(d decisionlog.Decision) (_ decisionlog.Decision, ok bool, err error) {
	text, ok := a.Text(d)
	if !ok {
		return d, false, nil
	}
	r := *d.Record
	r.Features = make([]float32, a.Features.Dim)
	if err := a.Encode(r.Features, text); err != nil {
		return d, false, fmt.Errorf("its text: %w", err)
	}
	d.Record = &r
	return d, true, nil
}

// actions are those of a policy with the new features.
func (a *Anew) actions(of costs.Actions) costs.Actions {
	of.Features, of.Digests = a.Features, map[string]string{costs.FeatureDigest: a.Digest}
	return of
}
