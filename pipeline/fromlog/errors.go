package fromlog

import (
	"fmt"

	"pipe/costs"
	"pipe/internal/hint"
)

// noOutcomes says why no decision could be exported.
func noOutcomes(r *Result) error {
	if r.ExportNoFee > 0 {
		return noFees(r.Log, r.ExportNoFee)
	}
	if r.OtherPairs > 0 {
		return &costs.DataError{File: r.Log, Column: "policy", Msg: fmt.Sprintf("has other pairs than %s in all %d decisions with a known loss; choose one by --policy NAME@DIGEST", r.Prices.Policy, r.OtherPairs)}
	}
	if r.Fallbacks > 0 {
		return &costs.DataError{File: r.Log, Column: "executed", Msg: fmt.Sprintf("differs from the chosen pair in all %d decisions with a known loss; --fallbacks keeps them", r.Fallbacks)}
	}
	return r.noLoss()
}

// noLoss is the error where no decision of a policy has a known loss.
func (r *Result) noLoss() error {
	decided := r.NoOutcome + r.Unanswered
	msg := fmt.Sprintf("is known of none of the %d decisions", decided)
	if decided > 0 {
		msg += "; send outcomes first"
	}
	if r.Fixed > 0 {
		msg += fmt.Sprintf(" (%d more are conversations that no policy decided on)", r.Fixed)
	}
	if r.Cascades > 0 {
		msg += fmt.Sprintf(" (%d more are decisions of cascades, from which nothing can be estimated)", r.Cascades)
	}
	if r.Panel > 0 {
		msg += fmt.Sprintf(" (%d more are answers of panels, which are in tensors only)", r.Panel)
	}
	return &costs.DataError{File: r.Log, Column: "loss", Msg: msg}
}

// noFees is the error where no call of n decisions has a known fee.
func noFees(log string, n int) error {
	msg := fmt.Sprintf("is known of none of the %d decisions with an outcome, so none of their costs is known", n)
	return hint.With(&costs.DataError{File: log, Column: "fee", Msg: msg}, "the gateway logs fees of experts that have prices (docs/gateway.md); --no-fees leaves measured fees out")
}

// noMoney is the error where it is not known what a fee is in the unit of the loss.
func noMoney(log string) error {
	const msg = "is of money, and the policy learned from measured fees; it is not known what a loss of 1 is worth"
	return hint.With(&costs.DataError{File: log, Column: "fee", Msg: msg}, "--money USD=40 says that it is worth 40 USD; --no-fees leaves measured fees out")
}
