package report

// What a verdict recommends.
const (
	DeployPolicy   = "policy"
	DeployConstant = "constant"
	DeployNothing  = "none" // there can be no verdict
)

// Why a verdict does not recommend the policy.
const (
	NoPolicy     = "no_policy"   // none was given for this lambda
	GuardFell    = "guard"       // in training the guard fell back to a constant
	OnePair      = "one_pair"    // the policy chose one pair on every row
	NotCertain   = "not_certain" // the interval of its saving contains a loss
	Dearer       = "dearer"      // it costs more
	TrainedOn    = "trained_on"  // the reported rows were trained on
	OneDraw      = "one_draw"    // the rows are one draw, so there are no intervals
	NoComparison = "no_constant" // there is no constant to compare with
)

// The constants that a verdict compares with.
const (
	AgainstFixed     = "best_fixed_train" // the pair with the lowest cost on the training rows
	AgainstStrongest = "strongest"        // the pair with the lowest task loss on the training rows, fees not counted
	AgainstToday     = "today"            // the pair that the user named
)

// Verdict is, for one lambda, what to deploy and what that saves.
type Verdict struct {
	Setting  string   `json:"setting,omitempty"`
	Lambda   float64  `json:"lambda"`
	Sentence string   `json:"sentence"`              // the verdict in words: made of the other fields when the report is written
	Deploy   string   `json:"deploy"`                // DeployPolicy, DeployConstant or DeployNothing
	Policy   string   `json:"policy,omitempty"`      // the file, or the method of a policy in memory; also where it is not recommended
	Method   string   `json:"method,omitempty"`      // of the policy
	Pair     string   `json:"pair,omitempty"`        // the recommended constant
	As       []string `json:"pair_as,omitempty"`     // what that constant is: AgainstToday and others
	Reason   string   `json:"reason,omitempty"`      // why not the policy: NoPolicy and the other reasons
	Origin   bool     `json:"other_table,omitempty"` // the policy was trained on another table
	Rows     int      `json:"rows"`
	// Savings are those of the recommended policy or constant, one per other constant. If the policy is not recommended,
	// PolicySavings are those that it would have.
	Savings       []Saving    `json:"savings,omitempty"`
	PolicySavings []Saving    `json:"policy_savings,omitempty"`
	Experts       []ExpertUse `json:"experts,omitempty"` // of what is recommended
}

// Saving is what a policy or constant saves per request against a constant: positive is better. The figures are means
// over the reported rows, with paired intervals.
type Saving struct {
	Against   []string  `json:"against"`   // AgainstToday and others that are this pair
	Pair      string    `json:"pair"`      // the constant
	Reference float64   `json:"reference"` // its mean cost: task loss plus fees at lambda
	Cost      Interval  `json:"cost"`
	Share     *Interval `json:"share,omitempty"` // Cost as a share of Reference; absent where that may be 0 or less
	Loss      Interval  `json:"loss"`            // task loss alone
	Money     Interval  `json:"money"`           // fees paid, those of advice before lambda: see Report.Money for the unit
}

// ExpertUse is what one expert gets.
type ExpertUse struct {
	Expert string  `json:"expert"`
	Share  float64 `json:"share"` // of the reported rows
	Loss   float64 `json:"loss"`  // mean task loss of these rows
	Money  float64 `json:"money"` // mean of the fees paid for them
}

// saving is the saving against a pair, nil if there is none.
func saving(list []Saving, pair string) *Saving {
	for i := range list {
		if list[i].Pair == pair {
			return &list[i]
		}
	}
	return nil
}

// Verdicts are the verdicts with their sentences.
func (r *Report) Verdicts() []Verdict {
	var out []Verdict
	for _, v := range r.Verdict {
		v.Sentence = v.sentence(r.Money)
		out = append(out, v)
	}
	return out
}
