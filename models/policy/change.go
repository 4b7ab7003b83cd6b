package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/textfile"
)

// PriceChange says how prices differ from those that a policy was trained with. The zero value changes nothing.
type PriceChange struct {
	Lambda  *float64 // multiplier of the fees of advice; nil: that of the policy
	Fees    []string // "expert=NAME:FEE" or "advice=NAME:FEE", fees as in [costs.Actions]: those of advice are before lambda
	Pairs   []string // "EXPERT/ADVICE:FEE", fees of pairs, which are added to those of the expert and of the advice
	Without []string // pairs that must not be chosen, see [ParseWithout]
}

// IsZero reports whether nothing changes.
func (c PriceChange) IsZero() bool {
	return c.Lambda == nil && len(c.Fees) == 0 && len(c.Pairs) == 0 && len(c.Without) == 0
}

// Pricing is a policy's prices after a [PriceChange].
type Pricing struct {
	Actions   *costs.Actions // those of the policy, with the changed fees
	Lambda    float64
	Pairs     []float64 // J(K+1), fees of pairs, which are added to those of the expert and of the advice; nil where all are 0
	Available []bool    // J(K+1), pairs that may be chosen
	// Unchecked says, one reason each, why these prices are not among those for which the policy was compared with the best
	// fixed pair. Empty: they are, or the policy has fixed prices.
	Unchecked []string
}

// MaxFee is the largest fee that a [PriceChange] may set.
const MaxFee = costs.MaxLambda

// ErrFixedPrices is the error for a change of lambda or of a fee of a policy whose prices were fixed when it was trained.
var ErrFixedPrices = errors.New("the policy has fixed prices")

// Price applies a change to the prices of the file. Names that are unknown, fees that are set twice, negative or not
// finite, a fee for the absence of advice, and a change that leaves no pair are errors. For a policy that is not an
// any-price policy, Without is the only possible change; for another, the error is [ErrFixedPrices].
func (info *Info) Price(c PriceChange) (*Pricing, error) {
	if info.Prices == nil && (c.Lambda != nil || len(c.Fees) > 0 || len(c.Pairs) > 0) {
		return nil, ErrFixedPrices
	}
	a := *info.Actions
	a.Experts, a.Advice = slices.Clone(a.Experts), slices.Clone(a.Advice)
	p := &Pricing{Actions: &a, Lambda: info.Lambda}
	if c.Lambda != nil {
		if !costs.UsableLambda(*c.Lambda) {
			return nil, fmt.Errorf("lambda %g is not a number from 0 to %g", *c.Lambda, costs.MaxLambda)
		}
		p.Lambda = *c.Lambda
	}
	if err := setFees(&a, c.Fees); err != nil {
		return nil, err
	}
	var err error
	if p.Pairs, err = pairFees(&a, c.Pairs); err != nil {
		return nil, err
	}
	if p.Available, err = ParseWithout(&a, c.Without); err != nil {
		return nil, err
	}
	p.Unchecked = info.unchecked(p)
	return p, nil
}

// PriceAt are prices with the fees of a, which has the same experts, advice and pairs as the policy.
func (info *Info) PriceAt(a *costs.Actions, lambda float64) *Pricing {
	p := &Pricing{Actions: a, Lambda: lambda, Available: info.Actions.Mask()}
	p.Unchecked = info.unchecked(p)
	return p
}

// Prices are the inputs of the policy file.
func (p *Pricing) Prices() Prices {
	out := PricesOf(p.Actions, p.Lambda)
	out.Available = p.Available
	for _, fee := range p.Pairs {
		out.Pairs = append(out.Pairs, float32(fee))
	}
	return out
}

// Fees are what every pair costs besides its task loss: J(K+1).
func (p *Pricing) Fees() []float64 {
	fees := p.Actions.Fees(p.Lambda)
	for i, fee := range p.Pairs {
		fees[i] += fee
	}
	return fees
}

// setFees writes changed fees into a.
func setFees(a *costs.Actions, fees []string) error {
	seen := map[*float64]bool{}
	for _, text := range fees {
		to, fee, err := parseFee(a, text)
		if err != nil {
			return err
		}
		if seen[to] {
			return fmt.Errorf("fee %q: its fee is set twice", text)
		}
		seen[to], *to = true, fee
	}
	return nil
}

// parseFee returns the fee of a that text names, and its new value.
func parseFee(a *costs.Actions, text string) (to *float64, fee float64, err error) {
	colon := strings.LastIndexByte(text, ':')
	kind, _, named := strings.Cut(text, "=")
	if colon < 0 || !named || kind != kindExpert && kind != kindAdvice {
		return nil, 0, fmt.Errorf("fee %q is neither expert=NAME:FEE nor advice=NAME:FEE", text)
	}
	expert, advice, err := parseExclusion(a, text[:colon])
	if err != nil {
		return nil, 0, err
	}
	if fee, err = parseAmount(text, colon); err != nil {
		return nil, 0, err
	}
	switch {
	case expert >= 0:
		return &a.Experts[expert].Fee, fee, nil
	case advice == 0:
		return nil, 0, fmt.Errorf("fee %q: %q is the absence of advice, which is free", text, a.Advice[0].Name)
	}
	return &a.Advice[advice].Fee, fee, nil
}

// parseAmount returns the fee after the colon of text.
func parseAmount(text string, colon int) (float64, error) {
	fee, err := textfile.ParseNumber(text[colon+1:])
	if err != nil || !(fee >= 0 && fee <= MaxFee) {
		return 0, fmt.Errorf("fee %q: %q is not a number from 0 to %g", text, text[colon+1:], MaxFee)
	}
	return fee, nil
}

// pairFees returns the fees of pairs that the texts set; nil if none is above 0.
func pairFees(a *costs.Actions, texts []string) ([]float64, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	out, set, some := make([]float64, a.Len()), make([]bool, a.Len()), false
	for _, text := range texts {
		colon := strings.LastIndexByte(text, ':')
		if colon < 0 {
			return nil, fmt.Errorf("fee %q is not EXPERT/ADVICE:FEE", text)
		}
		i, err := pairIndex(a, text[:colon])
		if err != nil {
			return nil, err
		}
		if set[i] {
			return nil, fmt.Errorf("fee %q: its fee is set twice", text)
		}
		if out[i], err = parseAmount(text, colon); err != nil {
			return nil, err
		}
		set[i], some = true, some || out[i] > 0
	}
	if !some {
		return nil, nil
	}
	return out, nil
}

// unchecked lists what is outside of the range of an any-price policy.
func (info *Info) unchecked(p *Pricing) []string {
	if info.Prices == nil {
		return nil
	}
	var why []string
	add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if r := info.Prices.Lambda; p.Lambda < r[0] || p.Lambda > r[1] {
		add("lambda %g is not from %g to %g", p.Lambda, r[0], r[1])
	}
	changed := info.Actions.ChangedFees(p.Actions)
	switch {
	case len(changed) > 1:
		add("%d fees differ from those of the training, and only one at a time was changed", len(changed))
	case len(changed) == 1 && p.Lambda != info.Lambda:
		add("lambda and a fee differ from those of the training, and only one at a time was changed")
	}
	for _, c := range changed {
		const rounding = 1e-9
		if r := info.Prices.Fee; c.Here < r[0]*c.Trained*(1-rounding) || c.Here > r[1]*c.Trained*(1+rounding) {
			add("the fee %g of %s %q is not from %g to %g", c.Here, c.Kind, c.Name, r[0]*c.Trained, r[1]*c.Trained)
		}
	}
	if p.Pairs != nil {
		add("pairs have fees of their own")
	}
	if !slices.Equal(p.Available, info.Actions.Mask()) {
		add("pairs are left out")
	}
	return why
}
