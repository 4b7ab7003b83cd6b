package policy

import (
	"maps"
	"math"
	"slices"

	"pipe/costs"
	"pipe/onnx"
)

// Prices are what a decision costs besides its task loss, and which pairs may be chosen. They are shared: do not change
// those that another made.
type Prices struct {
	Lambda    float64     // multiplier of the fees of advice
	Experts   []float64   // J, fee of each expert
	Advice    []float64   // K+1, fee of each advice, before lambda; the first is 0
	Pairs     []float64   // J(K+1), added to both; nil: 0 for every pair
	Usage     UsagePrices // of a policy with usage, by expert
	Available []bool      // J(K+1), pairs that may be chosen, see [Without]
	// Unchecked says, one reason each, why these prices are not among those for which the policy was compared with the best
	// fixed pair. Empty: they are, or the policy has fixed prices.
	Unchecked []string
}

// PricesOf are the fees of the actions at lambda. Every pair that exists may be chosen.
func PricesOf(a *costs.Actions, lambda float64) *Prices {
	p := &Prices{Lambda: lambda, Experts: make([]float64, len(a.Experts)), Advice: make([]float64, len(a.Advice)), Available: a.Mask()}
	for j, e := range a.Experts {
		p.Experts[j] = e.Fee
	}
	for k, v := range a.Advice {
		p.Advice[k] = v.Fee
	}
	return p
}

// Fee is what a pair costs besides its task loss and what its calls use.
func (p *Prices) Fee(pair int) float64 {
	fee := p.Experts[pair/len(p.Advice)] + p.Lambda*p.Advice[pair%len(p.Advice)]
	if p.Pairs != nil {
		fee += p.Pairs[pair]
	}
	return fee
}

// FeeOf is what a pair costs besides its task loss, given what it uses: the values at index i of usage. It is NaN if what it uses
// has a price and is not known.
func (p *Prices) FeeOf(pair int, usage *costs.Usage, i int) float64 {
	fee := p.Fee(pair)
	for q := range p.Usage {
		rate := p.Usage.rate(costs.Quantity(q), pair/len(p.Advice))
		switch {
		case rate == 0:
		case usage[q] == nil:
			return math.NaN()
		default:
			fee += rate * float64(usage[q][i])
		}
	}
	return fee
}

// Fees are those of every pair: J(K+1).
func (p *Prices) Fees() []float64 {
	fees := make([]float64, len(p.Experts)*len(p.Advice))
	for i := range fees {
		fees[i] = p.Fee(i)
	}
	return fees
}

// In are the actions with the fees of experts and advice of p.
func (p *Prices) In(a *costs.Actions) *costs.Actions {
	out := *a
	out.Experts, out.Advice = slices.Clone(a.Experts), slices.Clone(a.Advice)
	for j := range out.Experts {
		out.Experts[j].Fee = p.Experts[j]
	}
	for k := range out.Advice {
		out.Advice[k].Fee = p.Advice[k]
	}
	return &out
}

// Tensors are the inputs of an any-price policy file by their names: one row each. Fees of advice are multiplied by lambda.
func (p *Prices) Tensors() map[string]*onnx.Tensor {
	pairs := len(p.Experts) * len(p.Advice)
	in := inputs{experts: make([]float32, len(p.Experts)), advice: make([]float32, len(p.Advice)), pairs: make([]float32, pairs), available: make([]bool, pairs)}
	for q, prices := range p.Usage {
		in.usage[q] = make([]float32, len(prices))
	}
	in.set(p)
	row := func(n int) []int64 { return []int64{1, int64(n)} }
	out := map[string]*onnx.Tensor{
		ExpertFeesInput: onnx.Float32s(row(len(in.experts)), in.experts),
		AdviceFeesInput: onnx.Float32s(row(len(in.advice)), in.advice),
		PairFeesInput:   onnx.Float32s(row(pairs), in.pairs),
		AvailableInput:  onnx.Bools(row(pairs), in.available),
	}
	for q, prices := range p.Usage {
		if prices != nil {
			out[UsagePriceInput(costs.Quantity(q))] = onnx.Float32s(row(len(prices)), in.usage[q])
		}
	}
	return out
}

// inputs is the memory of one row of the inputs of a graph besides the features.
type inputs struct {
	experts, advice, pairs []float32
	available              []bool
	usage                  [costs.Quantities][]float32
}

// Fill writes one row of the inputs of an any-price file but those of usage: fees of experts, of advice multiplied by lambda, and of
// pairs, and what is available.
func (p *Prices) Fill(experts, advice, pairs []float32, available []bool) {
	for j, fee := range p.Experts {
		experts[j] = float32(fee)
	}
	for k, fee := range p.Advice {
		advice[k] = float32(p.Lambda * fee)
	}
	clear(pairs)
	for i, fee := range p.Pairs {
		pairs[i] = float32(fee)
	}
	copy(available, p.Available)
}

// set writes prices.
func (in inputs) set(p *Prices) {
	p.Fill(in.experts, in.advice, in.pairs, in.available)
	for q, prices := range p.Usage {
		for j, price := range prices {
			in.usage[q][j] = float32(price)
		}
	}
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

// areFees reports whether fees are finite as the graph sees them.
func areFees(fees []float64, factor float64) bool {
	for _, fee := range fees {
		if v := float32(factor * fee); v-v != 0 {
			return false
		}
	}
	return true
}

// Equal reports whether a policy decides the same at two prices.
func (p *Prices) Equal(o *Prices) bool {
	return p == o || p.SameFees(o) && slices.Equal(p.Available, o.Available)
}

// SameFees reports whether two prices differ in nothing but what is available.
func (p *Prices) SameFees(o *Prices) bool {
	return p.Lambda == o.Lambda && slices.Equal(p.Experts, o.Experts) && slices.Equal(p.Advice, o.Advice) &&
		slices.Equal(p.Pairs, o.Pairs) && p.Usage.Equal(&o.Usage)
}
