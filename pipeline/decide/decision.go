package decide

import (
	"pipe/costs"
	"pipe/models/policy"
)

// Decision is what a policy chooses for one row: a pair of an expert and an advice.
type Decision struct {
	Action      int       // the index of the pair: ExpertIndex * number of advice + AdviceIndex
	Expert      string    // its name
	Advice      string    // its name
	ExpertIndex int       // among the experts of the policy
	AdviceIndex int       // among the advice of the policy; 0 is none
	Scores      []float32 // of every pair, by action; higher is better. Pairs that are not available have the lowest
	// Loss and Cost are what a policy by estimates expects of every pair, by action: the task loss with measured fees, and
	// the same plus the fees. nil for other policies. Those of pairs that do not exist are above 1e29.
	Loss, Cost []float32 `json:",omitempty"`
	// Accepted says whether the guarantee of the policy is about the decision, as long as it is executed as it is; nil: the policy has none.
	Accepted *bool         `json:",omitempty"`
	Excluded []policy.Part `json:",omitempty"` // what Router.Without has excluded so far
}

// decisions are those of a batch by name.
func decisions(a *costs.Actions, d *policy.Decisions) []Decision {
	out := make([]Decision, len(d.Action))
	for n := range out {
		first, end := n*d.Actions, (n+1)*d.Actions
		out[n] = decisionOf(a, int(d.Action[n]), d.Scores[first:end:end])
		if d.Loss != nil {
			out[n].Loss, out[n].Cost = d.Loss[first:end:end], d.Cost[first:end:end]
		}
		if d.Accepted != nil {
			out[n].Accepted = &d.Accepted[n]
		}
	}
	return out
}

func decisionOf(a *costs.Actions, action int, scores []float32) Decision {
	j, k := a.Pair(action)
	return Decision{Action: action, Expert: a.Experts[j].Name, Advice: a.Advice[k].Name, ExpertIndex: j, AdviceIndex: k, Scores: scores}
}
