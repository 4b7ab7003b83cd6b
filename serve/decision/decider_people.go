package decision

import (
	"slices"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/serve/policies"
)

// People knows the experts that are people. For a request with tags it returns a function that says what the pairs of a policy cost
// beside their fees, in units of the loss, and which of them nobody can answer at present. Both are nil where no expert of a policy
// is people.
type People func(tags []string) func(*costs.Actions) (fees []float64, without []policy.Part)

// UsePeople sets who knows the experts that are people. It must be called before the first decision.
func (d *Decider) UsePeople(p People) { d.people = p }

// askPeople looks up what waits for people, and who is there.
func (d *Decider) askPeople(r *Request) {
	if d.people != nil {
		r.people = d.people(r.Tags)
	}
}

// sparing are exclusions that leave the pairs that were executed.
func sparing(a *costs.Actions, without []policy.Part, executed []bool) []policy.Part {
	if !slices.Contains(executed, true) {
		return without
	}
	var out []policy.Part
	for _, part := range without {
		var spared, rest []policy.Part
		for i := range a.Len() {
			j, k := a.Pair(i)
			if pair := policy.Pair(a.Name(i)); part != policy.Expert(a.Experts[j].Name) && part != policy.Advice(a.Advice[k].Name) && part != pair {
				continue
			} else if executed[i] {
				spared = append(spared, pair)
			} else {
				rest = append(rest, pair)
			}
		}
		if spared == nil {
			rest = []policy.Part{part}
		}
		out = leaveOut(out, rest)
	}
	return out
}

// leaveOut adds parts to those that must not be chosen. It does not change the list.
func leaveOut(list, more []policy.Part) []policy.Part {
	list = slices.Clip(list)
	for _, part := range more {
		if !slices.Contains(list, part) {
			list = append(list, part)
		}
	}
	return list
}

// withPeople adds to the prices of a request what people cost, and leaves out those who are not there. Fixed prices do not change.
func (r *Request) withPeople(c policy.PriceChange, p *policies.Policy) policy.PriceChange {
	fees, without := r.people(p.Info().Actions)
	c.Without = leaveOut(c.Without, without)
	if fees == nil || p.Info().Prices == nil {
		return c
	}
	sum := slices.Clone(c.Surcharge)
	if sum == nil {
		sum = make([]float64, len(fees))
	}
	for i, fee := range fees {
		sum[i] += fee
	}
	c.Surcharge = sum
	return c
}
