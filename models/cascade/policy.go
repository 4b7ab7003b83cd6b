package cascade

import (
	"slices"

	"pipe/costs"
	"pipe/models/policy"
)

// Policy decides in stages. Training makes policies, and [Policy.Export] writes one as a file.
type Policy struct {
	Actions *costs.Actions // names, fees and unavailable pairs
	Dim     int            // width of the features
	Facts   []costs.Fact   // what is seen of an answer
	Stages  int            // pairs that are executed on a row, at most
	Lambda  float64        // multiplier of the fees of advice
	States  []State        // the first is the empty one; no two have the same pairs
	// Rest decides which answer is accepted in a state that has no policy: it estimates the loss of every pair from the
	// features alone. Its actions are those of [PairActions].
	Rest *policy.Policy
	// Info is further metadata, by key without the prefix "pipe.".
	Info map[string]string
}

// State is what the policy does after some pairs were executed.
type State struct {
	Executed []int // ascending
	Encoding Encoding
	// Policy takes the encoded state. Its actions are those of [PairActions]: pairs that were executed are free. Those that
	// must not be executed next are unavailable.
	Policy *policy.Policy
}

// PairActions are the pairs of a as experts without advice, at the fees that executing one next has: 0 for those that
// were executed already. Pairs that are not allowed are unavailable; nil: all that exist are allowed. dim is the width of
// what the state's policy sees.
func PairActions(a *costs.Actions, lambda float64, executed []int, allowed []bool, dim int) *costs.Actions {
	out := &costs.Actions{Advice: []costs.Advice{{Name: "none"}}, Features: costs.FeatureSource{Name: a.Features.Name, Dim: dim}}
	fees, mask := a.Fees(lambda), a.Mask()
	for i, fee := range fees {
		if slices.Contains(executed, i) {
			fee = 0
		}
		out.Experts = append(out.Experts, costs.Expert{Name: a.Name(i), Fee: fee})
		if !mask[i] || allowed != nil && !allowed[i] {
			out.Unavailable = append(out.Unavailable, costs.Pair{Expert: i})
		}
	}
	return out
}
