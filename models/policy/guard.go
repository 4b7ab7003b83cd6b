package policy

import (
	"encoding/json"
	"fmt"
	"math"
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
	// Draws is the number of draws of folds over which losses, gain and bounds are means; absent for one. Only a verdict
	// that is close with the first draw takes more.
	Draws int  `json:"draws,omitempty"`
	Close bool `json:"close,omitempty"` // another seed may decide otherwise
	// Deployed names what the learned policy was compared with in place of the best fixed pair: Fixed losses are its own then. If the
	// learned policy does not pass, Fallback says that the deployed one stays. Empty: the best fixed pair.
	Deployed string `json:"deployed,omitempty"`
	// Log says how the rows of a log judged; nil: all outcomes of the guarded rows are known.
	Log *GuardLog `json:"log,omitempty"`
	// Rule is RuleBound or RuleGain. Files that do not say have the rule bound.
	Rule string `json:"rule,omitempty"`
	// Prices are the comparisons of an any-price policy, whose losses above are means over all of them.
	Prices []PriceGuard `json:"prices,omitempty"`
}

// Against names what the learned policy was compared with.
func (g Guard) Against() string {
	if g.Deployed != "" {
		return "the deployed policy"
	}
	return "the best fixed pair"
}

// The rules of the guard: when a learned policy is exported.
const (
	RuleBound = "bound" // if the one-sided lower bound of its gain over the best fixed pair is above 0
	RuleGain  = "gain"  // if its gain is above LeastGain of the loss of the best fixed pair
)

// LeastGain is the share of the loss of the best fixed pair that a gain must exceed for RuleGain. Smaller gains, which chance
// makes on tables without structure, are not worth a policy.
const LeastGain = 0.002

// PriceConfidence is the one-sided confidence of each bound of a [PriceGuard].
const PriceConfidence = 0.95

// Verdict applies the rule to the figures, and gives the reason in words. An any-price policy must also be worse at no
// price with PriceConfidence. With Rows 0 nothing was compared, and nothing passes. The reason ends with [Guard.Note].
func (g Guard) Verdict() (passes bool, reason string) {
	passes, reason = g.verdict()
	if note := g.Note(); note != "" {
		reason += "; " + note
	}
	return passes, reason
}

// Note says over how many draws of folds the figures are means, and whether the verdict is close; empty if neither.
func (g Guard) Note() string {
	if g.Draws < 2 {
		return ""
	}
	note := fmt.Sprintf("a mean over %d draws of folds", g.Draws)
	if g.Close {
		note += ", and close: another seed may decide otherwise"
	}
	return note
}

func (g Guard) verdict() (passes bool, reason string) {
	if g.Rows == 0 {
		return false, "all training rows belong together, so none could be held out"
	}
	name := fmt.Sprintf("the lower bound of the gain at %g%%", 100*g.Confidence)
	if g.Rule == RuleGain {
		name = "the gain"
	}
	value, least := g.Required()
	if !(value > least) {
		return false, fmt.Sprintf("%s, %.4f, is not above %s", name, value, threshold(least))
	}
	for _, p := range g.Prices {
		if p.UpperBound < 0 {
			return false, fmt.Sprintf("at %s, the upper bound of the gain at %g%%, %.4f, is below 0", p.Name(), 100*PriceConfidence, p.UpperBound)
		}
	}
	return true, fmt.Sprintf("%s, %.4f, is above %s", name, value, threshold(least))
}

// Required is the figure that decides by the rule, the gain or its lower bound, and what it must exceed; both are in the unit of
// the task loss.
func (g Guard) Required() (value, least float64) {
	if g.Rule == RuleGain {
		return g.Gain, LeastGain * math.Abs(g.FixedLoss)
	}
	return g.LowerBound, 0
}

func threshold(least float64) string {
	if least == 0 {
		return "0"
	}
	return fmt.Sprintf("%.4f (%g%% of the loss of the best fixed pair)", least, 100*LeastGain)
}

// PriceGuard compares an any-price policy with the best fixed pair of one price. Losses are as in [Guard].
type PriceGuard struct {
	Lambda     float64 `json:"lambda"`           // multiplier of the fees of advice
	Scaled     string  `json:"scaled,omitempty"` // expert or advice whose fee is multiplied by Factor, such as "expert=large"; AllFees
	Factor     float64 `json:"factor,omitempty"`
	Fixed      string  `json:"fixed"` // best fixed pair on the training rows
	FixedLoss  float64 `json:"fixed_loss"`
	Learned    float64 `json:"learned_loss"`
	Gain       float64 `json:"gain"`        // fixed minus learned
	LowerBound float64 `json:"lower_bound"` // one-sided, of the gain, at PriceConfidence
	UpperBound float64 `json:"upper_bound"`
}

// AllFees is the value of PriceGuard.Scaled for the fees of all experts and advice.
const AllFees = "fees"

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
