package decide

import (
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/models/policy"
)

// UsedPrices are the prices at which an any-price policy decides, or which were fixed in a file made of one.
type UsedPrices struct {
	Lambda  float64            `json:"lambda"`
	Experts map[string]float64 `json:"experts"`         // fees by name
	Advice  map[string]float64 `json:"advice"`          // fees by name, before lambda
	Pairs   map[string]float64 `json:"pairs,omitempty"` // fees by name that are not 0, which are added to both
	Without []policy.Part      `json:"without,omitempty"`
	Usage   UsageList          `json:"usage,omitempty"` // only a policy with usage has them
	// Unchecked says why the policy was not compared with the best fixed pair at these prices, see policy.Prices.
	Unchecked []string `json:"unchecked,omitempty"`
	Idle      string   `json:"idle,omitempty"` // why lambda changes nothing, if it is not 1

	actions *costs.Actions
}

// NewUsedPrices names prices of a policy with the actions a.
func NewUsedPrices(a *costs.Actions, p *policy.Prices, without []policy.Part) *UsedPrices {
	a = p.In(a)
	fees := a.FeeList()
	u := &UsedPrices{Lambda: p.Lambda, Experts: fees.Experts, Advice: fees.Advice, Without: without, Unchecked: p.Unchecked, actions: a}
	if p.Lambda != 1 {
		u.Idle = a.LambdaIdle()
	}
	u.Usage = ListUsage(a, p.Usage)
	for i, fee := range p.Pairs {
		if fee != 0 {
			if u.Pairs == nil {
				u.Pairs = map[string]float64{}
			}
			u.Pairs[a.Name(i)] = fee
		}
	}
	return u
}

// AddTo lists the prices for a terminal.
func (u *UsedPrices) AddTo(b *safetext.Fields) {
	b.Add("lambda", "%g", u.Lambda)
	b.Add("experts", "%s", safetext.List(u.actions.Experts, func(x costs.Expert) string { return fmt.Sprintf("%s (fee %g)", x.Name, x.Fee) }))
	b.Add("advice", "%s", safetext.List(u.actions.Advice, func(x costs.Advice) string {
		return fmt.Sprintf("%s (fee %g before lambda)", x.Name, x.Fee)
	}))
	for _, line := range UsageLines(u.actions.Experts, u.Usage) {
		b.Add("usage", "%s", line)
	}
	b.Add("left out", "%s", safetext.List(u.Without, policy.Part.String))
	b.Add("not checked", "%s", u.unchecked())
	b.Add("note", "%s", u.Idle)
}

// Caution is a note about prices that the policy was not checked on, or that change nothing; empty if there are none.
func (u *UsedPrices) Caution() string {
	if why := u.unchecked(); why != "" && u.Idle != "" {
		return why + "; " + u.Idle
	} else if why != "" {
		return why
	}
	return u.Idle
}

func (u *UsedPrices) unchecked() string {
	if len(u.Unchecked) == 0 {
		return ""
	}
	return fmt.Sprintf("the policy was not checked on these prices: %s. It still decides by the same rule. Whether this gains over the best fixed pair is not known",
		strings.Join(u.Unchecked, "; "))
}

// UsageList are prices of what calls use, in the unit of the task loss, by expert and quantity: of a million tokens, of a call, of a
// second.
type UsageList map[string]map[string]float64

// ListUsage names prices; nil if there are none.
func ListUsage(a *costs.Actions, prices policy.UsagePrices) UsageList {
	var list UsageList
	for q, of := range prices {
		for j, price := range of {
			name := a.Experts[j].Name
			if list == nil {
				list = UsageList{}
			}
			if list[name] == nil {
				list[name] = map[string]float64{}
			}
			list[name][costs.Quantity(q).String()] = price
		}
	}
	return list
}

// UsageLines are the prices of a list in words, a line for every expert that has some. They are divided by what a loss of 1 is worth,
// so the last digits are left out.
func UsageLines(experts []costs.Expert, list UsageList) (lines []string) {
	units := [costs.Quantities]string{"a million tokens of prompts", "a million cached tokens", "a million tokens of answers", "a call", "a second"}
	for _, e := range experts {
		var all []string
		for q := range costs.Quantities {
			if price := list[e.Name][q.String()]; price > 0 {
				all = append(all, fmt.Sprintf("%.9g for %s", price, units[q]))
			}
		}
		if all != nil {
			lines = append(lines, safetext.Line(e.Name)+": "+strings.Join(all, ", "))
		}
	}
	return lines
}
