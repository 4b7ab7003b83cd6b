package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/internal/textfile"
)

// PriceChange says how prices differ from those that a policy was trained with. The zero value changes nothing.
type PriceChange struct {
	Lambda  *float64 // multiplier of the fees of advice; nil: that of the policy
	Fees    []Fee
	Usage   *UsagePrices `json:",omitempty"` // of a policy with usage; nil: those of the policy
	UsageOf []UsagePrice `json:",omitempty"` // of a policy with usage: what differs from Usage
	Without []Part       // what must not be chosen, see [Without]
	// Surcharge are amounts, one for each pair, that are added to the fees of pairs: what a decision costs now beside the
	// usual fees. In units of the loss, from 0 to MaxFee; nil: 0 for every pair.
	Surcharge []float64 `json:",omitempty"`
}

// Fee sets the fee of an expert, an advice or a pair, as in [costs.Actions]: that of an advice is before lambda, and that of
// a pair is added to those of its expert and its advice.
type Fee struct {
	Of     Part
	Amount float64 // from 0 to MaxFee
}

// ParseFee reads "expert=NAME:FEE" or "advice=NAME:FEE".
func ParseFee(text string) (Fee, error) {
	colon := strings.LastIndexByte(text, ':')
	kind, _, _ := strings.Cut(text, "=")
	if colon < 0 || kind != kindExpert && kind != kindAdvice {
		return Fee{}, notFee(text)
	}
	of, err := ParsePart(text[:colon])
	if err != nil {
		return Fee{}, notFee(text)
	}
	amount, err := textfile.ParseNumber(text[colon+1:])
	if err != nil {
		return Fee{}, wrongAmount(text, text[colon+1:])
	}
	f := Fee{of, amount}
	return f, f.check()
}

// String is the text that [ParseFee] reads; the fee of a pair has the same form.
func (f Fee) String() string { return f.Of.String() + ":" + f.amount() }

// MarshalText returns the text of [Fee.String].
func (f Fee) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

func (f Fee) amount() string { return strconv.FormatFloat(f.Amount, 'g', -1, 64) }

// check reports a fee that is out of range.
func (f Fee) check() error {
	if !(f.Amount >= 0 && f.Amount <= MaxFee) {
		return wrongAmount(f.String(), f.amount())
	}
	return nil
}

func notFee(text string) error {
	return fmt.Errorf("fee %q is neither expert=NAME:FEE nor advice=NAME:FEE", text)
}

func wrongAmount(text, amount string) error {
	return fmt.Errorf("fee %q: %q is not a number from 0 to %g", text, amount, MaxFee)
}

// IsZero reports whether nothing changes.
func (c PriceChange) IsZero() bool {
	return c.Lambda == nil && len(c.Fees) == 0 && c.Usage == nil && len(c.UsageOf) == 0 && len(c.Without) == 0 && len(c.Surcharge) == 0
}

// ErrFixedPrices is the error for a change of lambda or of a fee of a policy whose prices were fixed when it was trained.
var ErrFixedPrices = errors.New("the policy has fixed prices")

// Price applies a change to the prices of the file. Names that are unknown, fees that are set twice, negative or not
// finite, a fee for the absence of advice, and a change that leaves no pair are errors. For a policy that is not an
// any-price policy, Without is the only possible change; for another, the error is [ErrFixedPrices].
func (info *Info) Price(c PriceChange) (*Prices, error) {
	if info.Prices == nil && (c.Lambda != nil || len(c.Fees) > 0 || c.Usage != nil || len(c.UsageOf) > 0 || len(c.Surcharge) > 0) {
		return nil, ErrFixedPrices
	}
	p := info.Base()
	if c.Usage != nil {
		p.Usage = *c.Usage
	}
	var err error
	if c.Usage != nil || len(c.UsageOf) > 0 {
		if p.Usage, err = info.setUsage(p.Usage, c.UsageOf); err == nil {
			err = info.checkUsage(&p.Usage)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.Lambda != nil {
		if !costs.UsableLambda(*c.Lambda) {
			return nil, fmt.Errorf("lambda %g is not a number from 0 to %g", *c.Lambda, costs.MaxLambda)
		}
		p.Lambda = *c.Lambda
	}
	if err := p.setFees(info.Actions, c.Fees); err != nil {
		return nil, err
	}
	if err := p.surcharge(info.Actions, c.Surcharge); err != nil {
		return nil, err
	}
	if len(c.Without) > 0 {
		if p.Available, err = Without(info.Actions, c.Without); err != nil {
			return nil, err
		}
	}
	p.Unchecked = info.unchecked(p)
	return p, nil
}

// PriceAt are prices with the fees of a, which has the same experts, advice and pairs as the policy. usage are the prices of what
// calls use; nil: those of the policy.
func (info *Info) PriceAt(a *costs.Actions, lambda float64, usage *UsagePrices) *Prices {
	p := PricesOf(a, lambda)
	if p.Usage = info.Base().Usage; usage != nil {
		p.Usage = *usage
	}
	p.Available = info.Actions.Mask()
	p.Unchecked = info.unchecked(p)
	return p
}

// setFees sets changed fees. Those of pairs stay nil if all are 0.
func (p *Prices) setFees(a *costs.Actions, fees []Fee) error {
	if len(fees) == 0 {
		return nil
	}
	set := make([]bool, countParts(a))
	for _, f := range fees {
		at, err := f.Of.position(a)
		if err == nil {
			err = f.check()
		}
		switch {
		case err != nil:
			return err
		case at == len(a.Experts):
			return fmt.Errorf("fee %q: %q is the absence of advice, which is free", f, a.Advice[0].Name)
		case set[at]:
			return fmt.Errorf("fee %q: its fee is set twice", f)
		}
		set[at] = true
		p.setFee(at, f.Amount)
	}
	return nil
}

// setFee sets the fee of the part at a position, see [Part.position].
func (p *Prices) setFee(at int, fee float64) {
	pair := at - len(p.Experts) - len(p.Advice)
	switch {
	case at < len(p.Experts):
		p.Experts[at] = fee
	case pair < 0:
		p.Advice[at-len(p.Experts)] = fee
	case fee > 0:
		if p.Pairs == nil {
			p.Pairs = make([]float64, len(p.Experts)*len(p.Advice))
		}
		p.Pairs[pair] = fee
	}
}

// surcharge adds amounts to the fees of pairs.
func (p *Prices) surcharge(a *costs.Actions, amounts []float64) error {
	if len(amounts) == 0 {
		return nil
	}
	if len(amounts) != a.Len() {
		return fmt.Errorf("%d surcharges, the policy has %d pairs", len(amounts), a.Len())
	}
	pairs := make([]float64, a.Len())
	copy(pairs, p.Pairs)
	for i, amount := range amounts {
		if f := (Fee{Pair(a.Name(i)), amount}); f.check() != nil || pairs[i]+amount > MaxFee {
			return fmt.Errorf("the surcharge %g of %s, added to its fee %g, is not from 0 to %g", amount, a.Name(i), pairs[i], float64(MaxFee))
		}
		pairs[i] += amount
	}
	if slices.ContainsFunc(pairs, func(fee float64) bool { return fee > 0 }) {
		p.Pairs = pairs
	}
	return nil
}

// rounding is how far a factor on a price may be beyond the range, since it is computed.
const rounding = 1e-9

// unchecked lists what is outside of the range of an any-price policy.
func (info *Info) unchecked(p *Prices) []string {
	if info.Prices == nil {
		return nil
	}
	var why []string
	add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	if r := info.Prices.Lambda; p.Lambda < r[0] || p.Lambda > r[1] {
		add("lambda %g is not from %g to %g", p.Lambda, r[0], r[1])
	}
	changed := info.Actions.ChangedFees(p.In(info.Actions))
	experts, factors := info.changedUsage(&p.Usage)
	together := len(experts) > 0 && len(experts) == info.pricedExperts() && !slices.ContainsFunc(factors, func(f float64) bool { return f != factors[0] })
	number := len(changed) + len(experts)
	if together {
		number = len(changed) + 1 // all prices of usage by one factor
	}
	switch {
	case number > 1:
		add("%d fees and prices differ from those of the training, and only one at a time was changed", number)
	case number == 1 && p.Lambda != info.Lambda:
		add("lambda and a fee differ from those of the training, and only one at a time was changed")
	}
	for n, j := range experts {
		if info.Actions.Experts[j].Fee > 0 && !together {
			add("the prices of what expert %q uses changed without its fee, and both were changed by one factor", info.Actions.Experts[j].Name)
		}
		if r := info.Prices.Fee; !(factors[n] >= r[0]*(1-rounding) && factors[n] <= r[1]*(1+rounding)) {
			add("the prices of what expert %q uses are not all the same number, from %g to %g, times those of the training", info.Actions.Experts[j].Name, r[0], r[1])
		}
	}
	for _, c := range changed {
		if r := info.Prices.Fee; c.Here < r[0]*c.Trained*(1-rounding) || c.Here > r[1]*c.Trained*(1+rounding) {
			add("the fee %g of %s %q is not from %g to %g", c.Here, c.Kind, c.Name, r[0]*c.Trained, r[1]*c.Trained)
		}
	}
	if p.Pairs != nil {
		add("some pairs have extra fees")
	}
	if !slices.Equal(p.Available, info.Actions.Mask()) {
		add("pairs are left out")
	}
	if g := info.Guarantee; g != nil && g.Law == "" && !info.Promises(p) {
		add("the guarantee of a risk of at most %g is for other prices", g.Risk)
	}
	return why
}

// Promises reports whether the guarantee of the policy is about decisions at prices. A promise over random prices is about none alone.
func (info *Info) Promises(p *Prices) bool {
	experts, _ := info.changedUsage(&p.Usage)
	same := len(info.Actions.ChangedFees(p.In(info.Actions))) == 0 && len(experts) == 0 && p.Pairs == nil && slices.Equal(p.Available, info.Actions.Mask())
	g := info.Guarantee
	return same && g != nil && g.Law == "" && slices.ContainsFunc(g.At, func(v GuaranteedPrice) bool { return v.Lambda == p.Lambda })
}

// CheckPrices reports why an any-price policy cannot decide at prices: they do not fit its actions, or are not finite. Whether a pair
// may be chosen at all is not checked.
func (info *Info) CheckPrices(p *Prices) error {
	a := info.Actions
	pairs := a.Len()
	switch {
	case len(p.Experts) != len(a.Experts) || len(p.Advice) != len(a.Advice):
		return fmt.Errorf("fees of %d experts and %d advice, the policy has %d and %d", len(p.Experts), len(p.Advice), len(a.Experts), len(a.Advice))
	case p.Pairs != nil && len(p.Pairs) != pairs, len(p.Available) != pairs:
		return fmt.Errorf("%d fees and %d masks of pairs, the policy has %d pairs", len(p.Pairs), len(p.Available), pairs)
	case !areFees(p.Experts, 1) || !areFees(p.Advice, p.Lambda) || !areFees(p.Pairs, 1):
		return errors.New("a fee is not finite")
	case p.Advice[0] != 0:
		return fmt.Errorf("the fee of %q is %g, but no advice is free", a.Advice[0].Name, p.Advice[0])
	}
	return info.checkUsage(&p.Usage)
}

// Prices are those of the comparison, of actions with the fees of the training. A comparison of usage has them all.
func (p PriceGuard) Prices(a *costs.Actions) *Prices {
	out := PricesOf(a, p.Lambda)
	for j, e := range a.Experts {
		if p.Scaled == AllFees || p.Scaled == Expert(e.Name).String() {
			out.Experts[j] *= p.Factor
		}
	}
	for k, v := range a.Advice {
		if p.Scaled == AllFees || p.Scaled == Advice(v.Name).String() {
			out.Advice[k] *= p.Factor
		}
	}
	return out
}

// Base are the prices of the file.
func (info *Info) Base() *Prices {
	p := PricesOf(info.Actions, info.Lambda)
	if info.Usage != nil {
		p.Usage = info.Usage.Prices
	}
	return p
}
