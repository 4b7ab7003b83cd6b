package report

// The kinds of examples.
const (
	Won        = "won"        // the policy is cheaper than the constant by most
	Lost       = "lost"       // the policy is dearer by most
	Surprising = "surprising" // the loss is above the expected loss by most
)

// Examples are some reported rows of one policy.
type Examples struct {
	Setting string    `json:"setting,omitempty"`
	Lambda  float64   `json:"lambda"`
	Policy  string    `json:"policy"` // as in the verdict
	Pair    string    `json:"pair"`   // the constant that it is compared with
	Kind    string    `json:"kind"`   // Won, Lost or Surprising
	Rows    int       `json:"rows"`   // number of rows of this kind; only some are shown
	Shown   []Example `json:"shown"`
}

// Example is one row.
type Example struct {
	ID       string   `json:"id"`
	Label    string   `json:"label,omitempty"`
	Text     string   `json:"text,omitempty"` // only if the user asked for texts
	Policy   Outcome  `json:"policy"`
	Constant Outcome  `json:"constant"`
	Expected *float64 `json:"expected,omitempty"` // task loss and measured fee that the policy expected of its pair
	Saved    float64  `json:"saved"`              // cost of the constant minus that of the policy
}

// Outcome is what a pair did on a row.
type Outcome struct {
	Pair   string  `json:"pair"`
	Answer string  `json:"answer,omitempty"` // its prediction
	Loss   float64 `json:"loss"`
	Fee    float64 `json:"fee"` // at lambda, with measured fees
}
