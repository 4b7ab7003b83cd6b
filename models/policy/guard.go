package policy

import "encoding/json"

// Guard compares the learned policy with the best fixed pair on rows that its
// training and selection did not see. Without rows nothing could be compared:
// all training rows belong together, and the policy is the fixed pair.
type Guard struct {
	Fixed      string  `json:"fixed"`      // best fixed pair on the training rows
	FixedLoss  float64 `json:"fixed_loss"` // its true loss on the guarded rows
	Learned    float64 `json:"learned_loss"`
	Gain       float64 `json:"gain"`        // fixed minus learned
	LowerBound float64 `json:"lower_bound"` // one-sided, of the gain
	Confidence float64 `json:"confidence"`
	Rows       int     `json:"rows"`
	Clusters   int     `json:"clusters"` // sets of rows that belong together, which the bound takes for one draw each
	Fallback   bool    `json:"fallback"` // the exported policy is the fixed pair
}

// JSON is the report for a policy's metadata.
func (g Guard) JSON() string {
	b, err := json.Marshal(g)
	if err != nil {
		panic(err) // plain numbers and strings
	}
	return string(b)
}
