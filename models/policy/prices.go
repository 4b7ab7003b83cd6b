package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pipe/costs"
	"pipe/internal/finite"
)

// Prices are what a decision of an any-price policy costs besides its task loss, and which pairs may be chosen.
type Prices struct {
	Experts   []float32 // J, fee of each expert
	Advice    []float32 // K+1, fee of each advice, already multiplied by lambda; the first is 0
	Pairs     []float32 // J(K+1), added to both; nil: 0 for every pair
	Available []bool    // J(K+1), see [ParseWithout]; nil: every pair that exists
}

// PricesOf are the fees of the actions at lambda.
func PricesOf(a *costs.Actions, lambda float64) Prices {
	var p Prices
	for _, e := range a.Experts {
		p.Experts = append(p.Experts, float32(e.Fee))
	}
	for _, v := range a.Advice {
		p.Advice = append(p.Advice, float32(lambda*v.Fee))
	}
	return p
}

// At returns an any-price policy with its prices fixed: the fees of its actions at lambda. Other policies are returned as
// they are.
func (p *Policy) At(lambda float64) *Policy {
	if p.Estimate == nil || p.Estimate.Prices == nil {
		return p
	}
	fixed, e := *p, *p.Estimate
	e.Prices = nil
	fixed.Lambda, fixed.Estimate = lambda, &e
	fixed.Info = maps.Clone(p.Info)
	delete(fixed.Info, GuardKey) // it is of the range of prices
	return &fixed
}

// check reports why the prices do not fit the actions.
func (p Prices) check(a *costs.Actions) error {
	pairs := a.Len()
	switch {
	case len(p.Experts) != len(a.Experts) || len(p.Advice) != len(a.Advice):
		return fmt.Errorf("fees of %d experts and %d advice, the policy has %d and %d", len(p.Experts), len(p.Advice), len(a.Experts), len(a.Advice))
	case p.Pairs != nil && len(p.Pairs) != pairs, p.Available != nil && len(p.Available) != pairs:
		return fmt.Errorf("%d fees and %d masks of pairs, the policy has %d pairs", len(p.Pairs), len(p.Available), pairs)
	case finite.First(p.Experts) >= 0 || finite.First(p.Advice) >= 0 || finite.First(p.Pairs) >= 0:
		return errors.New("a fee is not finite")
	case p.Advice[0] != 0:
		return fmt.Errorf("the fee of %q is %g, but no advice is free", a.Advice[0].Name, p.Advice[0])
	case p.Available != nil && !slices.Contains(p.Available, true):
		return errors.New("no pair may be chosen")
	}
	return nil
}

// equal reports whether two prices are the same.
func (p Prices) equal(o Prices) bool {
	return slices.Equal(p.Experts, o.Experts) && slices.Equal(p.Advice, o.Advice) && slices.Equal(p.Pairs, o.Pairs) && slices.Equal(p.Available, o.Available)
}
