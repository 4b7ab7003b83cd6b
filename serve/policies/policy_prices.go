package policies

import (
	"time"

	"pipe/costs/prices"
	"pipe/models/policy"
	"pipe/pipeline/decide"
)

// Pricing is one state of the price file of a set. It does not change, so whoever keeps it decides at one set of prices.
type Pricing struct {
	Digest string    // of the prices that hold now; empty: there is no price file, and policies have the prices of their files
	Loaded time.Time // when they were read

	list *prices.Table // the prices that hold now: one period for each model
}

// priced are the prices of a policy in one state of the price file.
type priced struct {
	at     *Pricing
	prices *policy.Prices
}

// Pricing returns the current state of the price file.
func (p *Policy) Pricing() *Pricing { return p.current.Load() }

// RepricesUsage reports whether prices of what calls use are inputs of a policy.
func RepricesUsage(info *policy.Info) bool { return info.Usage != nil && info.Prices != nil }

// PricesAt returns the prices of the policy in a state of the price file: those of [Policy.Prices] if the file does not change
// them. Do not change them.
func (p *Policy) PricesAt(at *Pricing) (*policy.Prices, error) {
	if at.list == nil || !RepricesUsage(p.Info()) {
		return p.Prices(), nil
	}
	if known := p.priced.Load(); known != nil && known.at == at {
		return known.prices, nil
	}
	own, err := p.computePrices(at)
	if err == nil {
		p.priced.Store(&priced{at, own})
	}
	return own, err
}

func (p *Policy) computePrices(at *Pricing) (*policy.Prices, error) {
	usage, err := decide.ListedUsage(p.Info(), at.list)
	own := p.Prices()
	if err != nil || usage.Equal(&own.Usage) {
		return own, err
	}
	return p.changed(policy.PriceChange{Usage: &usage})
}

// fitting returns the prices in a state of the price file. If they do not fit, because the version is older or newer, they are those
// of the last state that did.
func (p *Policy) fitting(at *Pricing) (*Pricing, *policy.Prices, error) {
	own, err := p.PricesAt(at)
	if known := p.priced.Load(); err != nil && known != nil {
		return known.at, known.prices, nil
	}
	return at, own, err
}

// Price applies a change of prices to those of a state of the price file.
func (p *Policy) Price(at *Pricing, c policy.PriceChange) (*policy.Prices, error) {
	_, own, err := p.fitting(at)
	if err != nil || c.IsZero() {
		return own, err
	}
	if c.Usage == nil && own != p.Prices() {
		c.Usage = &own.Usage
	}
	return p.changed(c)
}

// changed applies a change to the prices of the file. A cascade knows what its guard and its guarantee are about; the policy of its first
// decisions does not.
func (p *Policy) changed(c policy.PriceChange) (*policy.Prices, error) {
	if p.cascade != nil {
		return p.cascade.Info().Price(c)
	}
	return p.Info().Price(c)
}

// Promises reports whether the guarantee of the file, which has one, is about decisions at prices. One over random prices is taken to be
// about all, and that of a file with fixed prices is about the choices that masks do not change.
func (p *Policy) Promises(at *policy.Prices) bool {
	switch {
	case p.Info().Prices == nil || p.Guarantee().Law != "":
		return true
	case p.cascade != nil:
		return p.cascade.Info().Promises(at)
	}
	return p.Info().Promises(at)
}
