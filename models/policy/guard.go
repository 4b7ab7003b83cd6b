package policy

import (
	"encoding/json"
	"fmt"
)

// Guard compares a learned policy with the best fixed pair, on rows that were not used to train or to choose it. Losses
// are mean costs per row, in the unit of the task loss. If all training rows belong together, nothing could be
// compared: Rows is 0, and the policy is the fixed pair.
type Guard struct {
	Fixed      string  `json:"fixed"`      // best fixed pair on the training rows
	FixedLoss  float64 `json:"fixed_loss"` // its true loss on the guarded rows
	Learned    float64 `json:"learned_loss"`
	Gain       float64 `json:"gain"`        // fixed minus learned
	LowerBound float64 `json:"lower_bound"` // one-sided, of the gain
	Confidence float64 `json:"confidence"`
	Rows       int     `json:"rows"`
	Clusters   int     `json:"clusters"` // sets of rows that belong together; the bound treats each as one sample
	Fallback   bool    `json:"fallback"` // the exported policy is the fixed pair
	// Rule is why a policy is not a fallback: "bound", the lower bound is above 0, or "gain", the gain is. Files that
	// do not say have the rule bound.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"` // why the policy is or is not a fallback, in words
	// Prices are the comparisons of an any-price policy, whose losses above are means over all of them.
	Prices []PriceGuard `json:"prices,omitempty"`
}

// PriceGuard compares an any-price policy with the best fixed pair of one price.
type PriceGuard struct {
	Lambda     float64 `json:"lambda"`           // multiplier of the fees of advice
	Scaled     string  `json:"scaled,omitempty"` // expert or advice whose fee is multiplied by Factor, such as "expert=large"
	Factor     float64 `json:"factor,omitempty"`
	Fixed      string  `json:"fixed"` // best fixed pair on the training rows
	FixedLoss  float64 `json:"fixed_loss"`
	Learned    float64 `json:"learned_loss"`
	Gain       float64 `json:"gain"`
	LowerBound float64 `json:"lower_bound"`
	UpperBound float64 `json:"upper_bound"`
}

// JSON is the value that a policy file has under [GuardKey].
func (g Guard) JSON() string {
	b, err := json.Marshal(g)
	if err != nil {
		panic(err) // plain numbers and strings
	}
	return string(b)
}

// Name says what the price is: lambda, and the fee that is multiplied.
func (p PriceGuard) Name() string {
	if p.Scaled == "" {
		return fmt.Sprintf("lambda %g", p.Lambda)
	}
	return fmt.Sprintf("lambda %g and %s times %g", p.Lambda, p.Scaled, p.Factor)
}
