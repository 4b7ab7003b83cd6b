package policy

// GuardLog says how the rows of a log judged, on which one pair was executed with a known probability. Their gains are doubly
// robust estimates.
type GuardLog struct {
	Rows          int     `json:"rows"`                      // of the guarded ones
	Complete      int     `json:"complete_rows"`             // guarded rows on which all outcomes are known
	Same          int     `json:"same"`                      // logged rows on which the learned policy takes the executed pair
	Effective     float64 `json:"effective_rows"`            // of these: the squared sum of their weights over the sum of squares
	LargestWeight float64 `json:"largest_weight"`            // of these; a weight is 1/probability
	Unsupported   int     `json:"unsupported,omitempty"`     // rows on which the log could not execute what the learned policy takes: no gain is shown there
	Clipped       int     `json:"clipped_weights,omitempty"` // rows whose weight is the bound on weights
}

// Support says on how many training rows a log executed a pair.
type Support struct {
	Pair    string `json:"pair"`
	Rows    int    `json:"rows"`
	Untried bool   `json:"untried,omitempty"` // too few: the policy never chooses it
}

// LogKey is the key of Policy.Info that says which part of a decision log a policy learned from, a JSON object: the times of the first and the
// last row, how many decisions and outcomes there are, and the policies that decided.
const LogKey = "log"

// SupportKey is the key of Policy.Info for the [Support] of every pair, a JSON list. Policies of tables without propensities have none.
const SupportKey = "support"
