package expert

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"pipe/costs/prices"
)

// PromptPrice is what a token of a prompt costs, in money.
type PromptPrice struct {
	In    float64       // one that is not cached
	Read  float64       // one that the service has in its cache
	Write float64       // one that is written to the cache
	TTL   time.Duration // of the cache; 0: not known
}

// PromptPrice returns the prices of a prompt with a number of tokens: long prompts may have other prices (above). ok is false if
// one of the prices is not known.
func (e *Expert) PromptPrice(tokens float64, at time.Time) (p PromptPrice, ok bool) {
	period, ok := e.period("", false, at)
	if !ok || period.In == nil || period.Cached == nil {
		return p, false
	}
	n := max(1, int64(tokens))
	one := func(u prices.Usage) (money float64) {
		u.In = float64(n)
		if money, ok = promptMoney(period, u); !ok {
			return 0
		}
		return money / u.In
	}
	p.In, p.Read = one(prices.Usage{}), one(prices.Usage{Cached: float64(n)})
	if p.Write = p.In; period.CacheWrite != nil {
		p.Write = one(prices.Usage{Parts: prices.Parts{Written: n}})
	}
	p.TTL = period.CacheLife()
	return p, ok
}

// PromptMoney is what a service bills for the prompt of a call alone. ok is false if that is not known.
func (e *Expert) PromptMoney(served string, used Usage, at time.Time) (money float64, ok bool) {
	period, ok := e.period(served, served != "" && !e.Serves(served), at)
	if !ok || !used.Known {
		return 0, false
	}
	u := used.Usage()
	u.Out, u.Reasoning, u.AudioOut = 0, 0, 0
	return promptMoney(period, u)
}

// promptMoney is the money of a usage without the price of the call.
func promptMoney(p prices.Period, u prices.Usage) (money float64, ok bool) {
	p.Call = nil
	money, err := p.Cost(u)
	return money, err == nil
}

// Service is a digest of the service, the account and the model. Experts with the same one share a cache of prompts there.
func (e *Expert) Service() string {
	of := sha256.Sum256([]byte(e.URL() + "\n" + e.cfg.Model + "\n" + string(e.key)))
	return hex.EncodeToString(of[:])
}
