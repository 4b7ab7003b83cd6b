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
	return p.Info().Price(policy.PriceChange{Usage: &usage})
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
	return p.Info().Price(c)
}
