package decision

import (
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// CanPanel reports whether a panel can answer the first row of a request: a policy saw it, and its features are known.
func (r *Result) CanPanel() bool { return !r.Fixed() && r.Records[0].Features != nil }

// PanelRecord makes the record of a panel for the answer of a pair to the first row of a request. keep is the probability with
// which this pair answers this request, see [decisionlog.SourcePanel]. It must be called before Done. The record has no
// execution yet; [Decider.LogPanel] logs it.
func (r *Result) PanelRecord(pair int, keep float64) *decisionlog.Record {
	of := r.Records[0]
	return &decisionlog.Record{
		Time: of.Time, ID: decisionlog.NewPanelID(), Request: of.Request, Source: decisionlog.SourcePanel, Client: of.Client, User: of.User,
		Policy: of.Policy, Digest: of.Digest, Canary: of.Canary, Lambda: of.Lambda, ExpertFees: of.ExpertFees, AdviceFees: of.AdviceFees,
		PairFees: of.PairFees, UsagePrices: of.UsagePrices, Available: of.Available, Features: of.Features, Action: pair, Greedy: of.Greedy,
		Propensity: r.used.version.certain[pair], ExpectedLoss: of.ExpectedLoss, ExpectedCost: of.ExpectedCost, Guarded: of.Guarded,
		Keep: keep, Executed: -1,
	}
}

// LogPanel adds a record of a panel to the log. It is not counted as a decision, and no observer gets it. Errors wrap
// [ErrNotLogged].
func (d *Decider) LogPanel(r *decisionlog.Record) error { return d.add([]*decisionlog.Record{r}) }

// Pairs are the pairs that may be executed for a row, in the order of the actions.
func (r *Result) Pairs(row int) (pairs []int) {
	scores := r.Decisions.Scores[row*r.Decisions.Actions : (row+1)*r.Decisions.Actions]
	for i, s := range scores {
		if r.Prices.Available[i] && s > policy.ExcludedBelow {
			pairs = append(pairs, i)
		}
	}
	return pairs
}
