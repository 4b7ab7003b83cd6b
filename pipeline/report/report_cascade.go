package report

import (
	"fmt"
	"strings"

	"pipe/costs"
)

// Cascade is, for one lambda, what a policy that looks at answers did on the reported rows, beside what decides once. Means are over
// these rows. Money is what is paid: the fees of all executed pairs, those of advice before lambda.
type Cascade struct {
	Setting  string            `json:"setting,omitempty"`
	Lambda   float64           `json:"lambda"`
	Sentence string            `json:"sentence"` // made of the other fields when the report is written
	Policy   string            `json:"policy"`   // the file
	OneShot  bool              `json:"one_shot,omitempty"`
	Origin   bool              `json:"other_table,omitempty"` // it was trained on another table
	Rows     int               `json:"rows"`
	Share    []float64         `json:"share"` // of the rows, by how many pairs were executed, from one on; sums to 1
	Expected float64           `json:"expected_loss"`
	Paid     CascadePaid       `json:"paid"`
	Others   []CascadeOther    `json:"others"`
	Pairs    []CascadePairUse  `json:"pairs"` // that were executed at all
	Fees     []costs.FeeChange `json:"changed_fees,omitempty"`
	// Guarantee is what the guarantee of the file accepts; nil: it has none.
	Guarantee *CascadeGuarantee `json:"guarantee,omitempty"`
}

// CascadeGuarantee is what the guarantee of a cascade accepts of the rows, and what it promises.
type CascadeGuarantee struct {
	Risk     float64  `json:"risk"`            // the largest expected loss of an accepted answer, as promised
	Other    bool     `json:"other,omitempty"` // the promise is about other prices than these, so nothing is promised here
	Joint    bool     `json:"joint,omitempty"` // the promise is about all rows, of which those that are not accepted count as 0
	Accepted float64  `json:"accepted"`        // share of the rows
	Loss     *float64 `json:"loss,omitempty"`  // mean task loss of what the promise is about; nil: of none
}

// words are a sentence.
func (g *CascadeGuarantee) words() string {
	if g == nil {
		return ""
	}
	of, loss := "", "none"
	if g.Loss != nil {
		loss = fmt.Sprintf("%.4f", *g.Loss)
	}
	if g.Joint {
		of = " per row, where the others count as 0"
	}
	promise := fmt.Sprintf("it promises at most %g", g.Risk)
	if g.Other {
		promise += " at other prices, and nothing at these"
	}
	return fmt.Sprintf(" Its guarantee accepts %s%% of the rows, with a mean loss of %s%s; %s.", fixed(100*g.Accepted, 1), loss, of, promise)
}

// CascadePaid is what something loses, spends and costs per row: TrueLoss is the task loss plus all fees, those of advice times
// lambda.
type CascadePaid struct {
	Loss          float64   `json:"loss"`
	LossInterval  *Interval `json:"loss_interval,omitempty"`
	Money         float64   `json:"money"`
	MoneyInterval *Interval `json:"money_interval,omitempty"`
	TrueLoss      float64   `json:"true_loss"`
}

// The roles of what a cascade is compared with.
const (
	CascadePolicy   = "policy"   // the policy of the verdict, which decides once
	CascadeConstant = "constant" // the best fixed pair of the training rows
	CascadeOracle   = "oracle"   // the cheapest pair of every row: a floor, which no cascade goes below
)

// CascadeOther is what a cascade is compared with.
type CascadeOther struct {
	Name string      `json:"name"` // of the policy's file or of the pair
	Role string      `json:"role"`
	Paid CascadePaid `json:"paid"`
	// Diff is the true loss of the cascade minus that of the other, paired by row; nil if all rows are one draw.
	Diff *Interval `json:"diff,omitempty"`
}

// CascadePairUse is what a cascade does with a pair, as shares of the rows.
type CascadePairUse struct {
	Pair     string   `json:"pair"`
	First    float64  `json:"first"` // executed before any other
	Executed float64  `json:"executed"`
	Accepted float64  `json:"accepted"`
	Loss     *float64 `json:"loss,omitempty"` // mean task loss of the accepted answers; absent if there are none
}

// sentence is what the cascade is worth, in words.
func (c *Cascade) sentence() string {
	var b strings.Builder
	at := "At"
	if c.Setting != "" {
		at = c.Setting + ": at"
	}
	fmt.Fprintf(&b, "%s lambda %s the cascade %s", at, fixed(c.Lambda, -1), c.Policy)
	if c.OneShot {
		fmt.Fprintf(&b, " accepts every first answer: in training, to look at answers was not shown to be better. It costs %.4f per request.", c.Paid.TrueLoss)
	} else {
		b.WriteString(c.compared() + c.executed())
	}
	b.WriteString(c.Guarantee.words())
	if c.Origin {
		b.WriteString(" But it was trained on another table: it may have learned from some of these rows.")
	}
	return b.String()
}

// executed says on how many rows it executed one pair, two, and so on.
func (c *Cascade) executed() string {
	var b strings.Builder
	for n, share := range c.Share {
		if n == 0 {
			fmt.Fprintf(&b, " It executes one pair on %s%% of the rows", fixed(100*share, 1))
		} else {
			fmt.Fprintf(&b, ", %d on %s%%", n+1, fixed(100*share, 1))
		}
	}
	return b.String() + "."
}

// compared says what the cascade saves against what decides once: the policy and the constant, as far as there are any.
func (c *Cascade) compared() string {
	var parts []string
	for _, o := range c.Others {
		if o.Role == CascadeOracle || o.Diff == nil {
			continue
		}
		d := *o.Diff
		part := fmt.Sprintf("saves %s per request against %s, %s", Amount(d.negative()), o.Name, o.words())
		if d.Mean > 0 {
			part = fmt.Sprintf("costs %s per request more than %s, %s", Amount(d), o.Name, o.words())
		}
		if d.Low <= 0 && d.High >= 0 {
			part += ", but that is not certain"
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return fmt.Sprintf(" costs %.4f per request.", c.Paid.TrueLoss)
	}
	return " " + strings.Join(parts, "; it ") + "."
}

func (o *CascadeOther) words() string {
	if o.Role == CascadePolicy {
		return "which decides once"
	}
	return "the best fixed pair of the training rows"
}

// cascades are those of the report with their sentences.
func (r *Report) cascades() []Cascade {
	var out []Cascade
	for _, c := range r.Cascades {
		c.Sentence = c.sentence()
		out = append(out, c)
	}
	return out
}
