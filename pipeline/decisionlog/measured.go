package decisionlog

import "math"

// Answered is the pair that an outcome belongs to: the one that answered after fallbacks, or the chosen one if that is not
// known.
func (r *Record) Answered() int {
	if r.Executed >= 0 {
		return r.Executed
	}
	return r.Action
}

// FellBack reports whether a pair other than the chosen one answered.
func (r *Record) FellBack() bool { return r.Executed >= 0 && r.Executed != r.Action && !r.IsCascade() }

// FeeOf is the fee of a pair at the prices of the decision: that of the expert, lambda times that of the advice, and that of
// the pair itself. If usage had prices, it is what the policy expected: NaN if it expected nothing.
func (r *Record) FeeOf(pair int) float64 {
	if r.UsagePrices != nil {
		if r.ExpectedCost == nil || r.ExpectedLoss == nil {
			return math.NaN()
		}
		return float64(r.ExpectedCost[pair]) - float64(r.ExpectedLoss[pair])
	}
	return r.FixedFeeOf(pair)
}

// FixedFeeOf is the part of the fee of a pair that does not depend on what its calls use.
func (r *Record) FixedFeeOf(pair int) float64 {
	k := len(r.AdviceFees)
	fee := r.ExpertFees[pair/k] + r.Lambda*r.AdviceFees[pair%k]
	if r.PairFees != nil {
		fee += r.PairFees[pair]
	}
	return fee
}

// Cost is the measured cost of a decision: the task loss of its outcome, and the fee of the pair that answered. ok is false
// if the loss or the fee is not known.
func (d Decision) Cost() (cost float64, ok bool) {
	loss, ok := d.Outcome.LossOf()
	fee := d.FeeOf(d.Answered())
	if !ok || math.IsNaN(fee) {
		return 0, false
	}
	return loss + fee, true
}
