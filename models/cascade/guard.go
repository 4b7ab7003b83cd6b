package cascade

import (
	"math"
	"slices"

	"pipe/models/policy"
)

// Guard compares a cascade with the best that decides once, on rows that trained neither. Costs are means per row, in the
// unit of the task loss, with all fees that were paid. With a half-life they are weighted by the age of the rows.
type Guard struct {
	OneShot    float64 `json:"one_shot"`    // of the one-shot policy of the recipe auto, trained on the same rows
	Fixed      float64 `json:"fixed"`       // of the best fixed pair of the same rows
	Cascade    float64 `json:"cascade"`     // of the cascade
	Gain       float64 `json:"gain"`        // the smaller of OneShot and Fixed, minus Cascade
	LowerBound float64 `json:"lower_bound"` // one-sided, of the gain
	UpperBound float64 `json:"upper_bound"` // one-sided, of the gain
	Confidence float64 `json:"confidence"`  // of each bound
	Rows       int     `json:"rows"`
	Clusters   int     `json:"clusters"` // sets of rows that belong together; the bounds treat each as one sample
	Rule       string  `json:"rule"`     // policy.RuleGain or policy.RuleBound
	Fallback   bool    `json:"fallback"` // the file accepts the first answer: it is the one-shot policy
	// Stages are the shares of the guarded rows on which the cascade executed 1, 2, ... pairs, and Money the fees that it
	// paid for the first, the second, ... of them, means per row. With Fallback they are those of the cascade that was
	// not exported.
	Stages []float64 `json:"stages"`
	Money  []float64 `json:"money"`
	// Prices are the comparisons of an any-price cascade, whose figures above are means over all of them. Fixed names the best fixed pair of
	// the price, and FixedLoss is the smaller cost of it and of the one-shot policy at the price. Learned is that of the cascade.
	Prices []policy.PriceGuard `json:"prices,omitempty"`
}

// Passes applies the rule: the gain, or its lower bound, is above what policy.LeastGain or 0 asks for. With Rows 0 nothing
// was compared, and nothing passes. An any-price cascade must be worse at no price with policy.PriceConfidence.
func (g Guard) Passes() bool {
	if g.Rows == 0 || slices.ContainsFunc(g.Prices, func(p policy.PriceGuard) bool { return p.UpperBound < 0 }) {
		return false
	}
	if g.Rule == policy.RuleGain {
		return g.Gain > policy.LeastGain*math.Abs(min(g.OneShot, g.Fixed))
	}
	return g.LowerBound > 0
}
