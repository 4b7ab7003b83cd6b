package decision

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/policies"
)

// Result has the decisions on the rows of one request.
type Result struct {
	// Policy is the version that decided. Done releases it.
	Policy *policies.Policy
	// Prices are the prices of the decisions; do not change them.
	Prices *policy.Prices
	// Decisions are the choices of the policy, with its scores. They do not include exploration.
	Decisions *policy.Decisions
	// Records has one record per row. Action is the pair to execute. Before Done, the caller may set Executed, Attempts,
	// Usage, Fee and the other fields about the execution. The slices of a record are shared and must not be changed.
	Records []*decisionlog.Record

	decider          *Decider
	used             used
	other            *policy.Decisions // of the policy that was not drawn; nil: none, or not known
	otherFeatures    []float32         // as that policy had them
	otherErr         error             // why that is not known
	request          Request
	features         []float32 // n x Dim
	encoded, decided time.Duration
	once             sync.Once
	err              error
}

// RequestID is the id of the request: the given one, or else a generated one.
func (r *Result) RequestID() string { return r.request.ID }

// row returns the features of a row; nil if they are not known.
func (r *Result) row(i int) []float32 {
	if r.features == nil {
		return nil
	}
	dim := r.used.version.info.Dim
	return r.features[i*dim : (i+1)*dim : (i+1)*dim]
}

// PricesNow gathers the prices of the request again, for a later decision on it; see [Decider.Prices]. The price file has the state of
// the first decision.
func (r *Result) PricesNow(executed []bool) (*policy.Prices, error) {
	return r.decider.Prices(r.request, r.Policy, executed)
}

// Name is the name of a pair, expert/advice.
func (r *Result) Name(pair int) string { return r.used.version.names[pair] }

// Guard returns whether the policy is the best fixed pair, because the guard of the training exported that, and the reason
// of the guard in words. The reason is empty if the file has no guard.
func (r *Result) Guard() (decided bool, reason string) {
	return r.used.version.guarded, r.used.version.reason
}

// Fixed reports whether [Request.FixedPair] was used in place of a decision of the policy.
func (r *Result) Fixed() bool { return r.request.Source == decisionlog.SourceFixed }

// Ranked returns the pairs that may be executed for a row: the chosen one first, then the others by the policy's score.
func (r *Result) Ranked(row int) []int {
	scores := r.Decisions.Scores[row*r.Decisions.Actions : (row+1)*r.Decisions.Actions]
	order := []int{r.Records[row].Action}
	for i, s := range scores {
		if i != order[0] && r.Prices.Available[i] && s > policy.ExcludedBelow {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order[1:], func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	return order
}

// Accepted reports whether the guarantee of the policy is about the decision on a row, and what should take it if not: [policy.Instead]. It is
// nil if the policy has no guarantee. A pair that was drawn by exploration, or given, is not accepted.
func (r *Result) Accepted(row int) (accepted bool, instead *policy.Instead) {
	g := r.used.version.info.Guarantee
	if g == nil {
		return false, nil
	}
	d := r.Decisions.Accepted
	return d != nil && d[row] && int64(r.Records[row].Action) == r.Decisions.Action[row], &g.Instead
}

// Settle notes in the record of a row whether the guarantee is about what is executed, and if not, what takes over. Decisions of policies
// that decide once are settled already; the caller settles them again where the accepted pair does not answer. Without a guarantee it
// does nothing.
func (r *Result) Settle(row int, accepted bool) {
	g, rec := r.Policy.Guarantee(), r.Records[row]
	if g == nil {
		return
	}
	rec.Accepted, rec.AcceptedKnown, rec.Instead, rec.InsteadFee, rec.InsteadFeeKnown = accepted, true, "", 0, false
	if accepted {
		return
	}
	rec.Instead = g.Instead.Name
	if rec.InsteadFeeKnown = g.Instead.Fee != nil; rec.InsteadFeeKnown {
		rec.InsteadFee = *g.Instead.Fee
	}
}

// ErrNotLogged is wrapped by the error of a decision that could not be logged, if the log is configured to stop the service
// in that case. The decision must not be executed.
var ErrNotLogged = errors.New("the decision could not be logged")

// Done counts the decisions, adds their records to the log, starts shadow policies, and releases the policy. Later calls
// return the error of the first one.
func (r *Result) Done() error {
	r.once.Do(func() {
		r.count()
		r.err = r.decider.finish(r)
		r.Policy.Release()
	})
	return r.err
}

// count updates the metrics.
func (r *Result) count() {
	m, u := r.decider.metrics, r.used
	if m == nil {
		return
	}
	m.Stage(u.policy.Name, "decode", r.request.Decode)
	if r.request.Inputs.Features == nil && !r.Fixed() {
		m.Stage(u.policy.Name, "encode", r.encoded)
	}
	if !r.Fixed() {
		m.Stage(u.policy.Name, "decide", r.decided)
	}
	fixed := u.version.fixed.compare(r.Records)
	for _, rec := range r.Records {
		j, k := u.version.info.Actions.Pair(rec.Action)
		cost, best := math.NaN(), math.NaN()
		if rec.ExpectedCost != nil {
			cost = policy.Expected(rec.ExpectedCost[rec.Action])
			if fixed >= 0 && rec.Available[fixed] {
				best = policy.Expected(rec.ExpectedCost[fixed])
			}
		}
		m.Decision(u.policy.Name, u.version.info.Actions.Experts[j].Name, u.version.info.Actions.Advice[k].Name, cost, best)
		if rec.Action != rec.Greedy {
			m.Explored(u.policy.Name)
		}
		if rec.AcceptedKnown {
			m.Guaranteed(u.policy.Name, rec.Accepted, u.policy.Promises(r.Prices), rec.Instead, rec.InsteadFee)
		}
	}
}
