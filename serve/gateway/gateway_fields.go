package gateway

import (
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/experts/fields"
	"pipe/models/policy"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/wishes"
)

// lacks is an error if an expert cannot be under an advice, because it does not take the fields that the advice sets. Parts that
// are not configured are another matter.
func (b *backends) lacks(expert, advice string) error {
	e, a := b.experts[expert], b.advice[advice]
	if e == nil || a == nil || a.Sets() == nil {
		return nil
	}
	if err := e.Lacks(a.Sets()); err != nil {
		return fmt.Errorf("the expert %q cannot be under the advice %q: %w", expert, advice, err)
	}
	return nil
}

// pairsLacking lists the pairs of a policy whose expert cannot be under their advice, and why.
func (b *backends) pairsLacking(actions *costs.Actions) (pairs []policy.Part, why []error) {
	for i := range actions.Len() {
		j, k := actions.Pair(i)
		if !actions.Available(i) {
			continue
		}
		if err := b.lacks(actions.Experts[j].Name, actions.Advice[k].Name); err != nil {
			pairs, why = append(pairs, policy.Pair(actions.Name(i))), append(why, err)
		}
	}
	return pairs, why
}

// excludeFields adds to the parts that the policy must not choose: pairs whose expert does not take the fields of their advice, and
// those whose advice sets a field that the caller has set to another value. The answer would come under the caller's value, and the
// record would say otherwise. Where no other pair could answer, those of the caller's other values stay. waiting are experts that
// cannot answer at present.
func (c *chat) excludeFields(actions *costs.Actions, without, waiting []policy.Part) []policy.Part {
	lacking, _ := c.pairsLacking(actions)
	without = wishes.Add(without, lacking...)
	var contradicted []policy.Part
	for i := range actions.Len() {
		j, k := actions.Pair(i)
		e, a := c.experts[actions.Experts[j].Name], c.advice[actions.Advice[k].Name]
		if e == nil || a == nil || a.Sets() == nil || !actions.Available(i) || slices.Contains(without, policy.Expert(e.Name)) {
			continue
		}
		if c.contradicts(e, a.Sets()) {
			contradicted = append(contradicted, policy.Pair(actions.Name(i)))
		}
	}
	if len(contradicted) == 0 {
		return without
	}
	most := wishes.Add(slices.Clone(without), contradicted...)
	if _, err := policy.Without(actions, wishes.Add(wishes.Add(slices.Clone(most), waiting...), c.wishes.Prices.Without...)); err != nil {
		return without
	}
	return most
}

// contradicts reports whether the caller set a field to another value than advice does. Between two protocols, efforts and limits of
// tokens are compared, too.
func (c *chat) contradicts(e *expert.Expert, set *fields.Set) bool {
	in := c.request
	if in.Contradicts(set.Of(expert.FieldProtocol(in.Format))) != nil {
		return true
	}
	if e.Kind().Passes(in.Format) {
		return false
	}
	limit := set.Limit(expert.FieldProtocol(e.Kind().Format))
	return in.OtherEffort(set.Effort) || in.MaxTokens() > 0 && limit > 0 && in.MaxTokens() != int64(limit)
}

// Problems is an error for every pair of a policy that can never be chosen, because its expert does not take the fields that its
// advice sets.
func (a *API) Problems() error {
	b := a.acquire()
	defer a.release(b)
	var errs []error
	for _, name := range a.decider.Policies().Names() {
		p, err := a.decider.Policies().Acquire(name)
		if err != nil { // its file changed meanwhile
			continue
		}
		_, why := b.pairsLacking(p.Info().Actions)
		for _, err := range why {
			errs = append(errs, fmt.Errorf("gateway: policy %q: %w; the pair is never chosen", name, err))
		}
		p.Release()
	}
	return errors.Join(errs...)
}
