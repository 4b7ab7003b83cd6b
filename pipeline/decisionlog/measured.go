package decisionlog

// Answered is the pair that an outcome belongs to: the one that answered after fallbacks, or the chosen one if that is not
// known.
func (r *Record) Answered() int {
	if r.Executed >= 0 {
		return r.Executed
	}
	return r.Action
}

// FellBack reports whether a pair other than the chosen one answered.
func (r *Record) FellBack() bool { return r.Executed >= 0 && r.Executed != r.Action }

// FeeOf is the fee of a pair at the prices of the decision: that of the expert, lambda times that of the advice, and that of
// the pair itself.
func (r *Record) FeeOf(pair int) float64 {
	k := len(r.AdviceFees)
	fee := r.ExpertFees[pair/k] + r.Lambda*r.AdviceFees[pair%k]
	if r.PairFees != nil {
		fee += r.PairFees[pair]
	}
	return fee
}

// Cost is the measured cost of a decision: the task loss of its outcome, and the fee of the pair that answered. ok is false
// if the loss is not known.
func (d Decision) Cost() (cost float64, ok bool) {
	loss, ok := d.Outcome.LossOf()
	if !ok {
		return 0, false
	}
	return loss + d.FeeOf(d.Answered()), true
}
