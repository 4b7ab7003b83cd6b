package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/estimate"
	"pipe/onnx"
)

// Usage are estimates of what the calls of every pair use. An any-price policy with them computes the fees of usage from
// prices, so its expected losses do not include these fees.
type Usage struct {
	Quantities []costs.Quantity // that are estimated, ascending
	// Estimate has a value per quantity and pair, len(Quantities) x J(K+1). Values below 0 count as 0, and cached tokens above the
	// tokens of the prompts, of which they are part, as these.
	Estimate estimate.Linear
	// Mean is what every pair uses on average over the training rows, a value as in Estimate. NaN: it is not known what the
	// pair uses, so the quantity must have no price there.
	Mean   []float64
	Prices UsagePrices // those of the training
}

// UsagePrices are prices of what the calls of every expert use, in the unit of the task loss, by quantity: of a million
// tokens, of a call, of a second. The price of TokensIn is that of tokens that are not in TokensCached. A quantity without
// prices is nil.
type UsagePrices [costs.Quantities][]float64

// Equal reports whether all prices are the same.
func (u *UsagePrices) Equal(o *UsagePrices) bool {
	for q := range u {
		if !slices.Equal(u[q], o[q]) {
			return false
		}
	}
	return true
}

// Times are the prices with those of an expert multiplied by a factor, or all if expert is -1.
func (u *UsagePrices) Times(factor float64, expert int) UsagePrices {
	out := *u
	for q, prices := range out {
		out[q] = slices.Clone(prices)
		for j := range prices {
			if expert < 0 || j == expert {
				out[q][j] *= factor
			}
		}
	}
	return out
}

// Of reports whether something that an expert uses has a price.
func (u *UsagePrices) Of(expert int) bool {
	return slices.ContainsFunc(u[:], func(prices []float64) bool { return prices != nil && prices[expert] > 0 })
}

// unit is how much of a quantity a price is of.
func unit(q costs.Quantity) float64 {
	if q <= costs.TokensOut {
		return 1e6
	}
	return 1
}

// Rates are the fees of a unit of usage for every pair, as in [Usage.Estimate]: a fee is the sum of rates times usage. They
// are 0 for quantities without prices.
func (u *UsagePrices) Rates(quantities []costs.Quantity, a *costs.Actions) []float64 {
	rates := make([]float64, 0, len(quantities)*a.Len())
	for _, q := range quantities {
		for i := range a.Len() {
			j, _ := a.Pair(i)
			rates = append(rates, u.rate(q, j))
		}
	}
	return rates
}

func (u *UsagePrices) rate(q costs.Quantity, expert int) float64 {
	if u[q] == nil {
		return 0
	}
	price := u[q][expert]
	if q == costs.TokensCached && u[costs.TokensIn] != nil {
		price -= u[costs.TokensIn][expert]
	}
	return price / unit(q)
}

// usagePriceInputs are the inputs of an any-price policy for the prices of quantities.
var usagePriceInputs = [costs.Quantities]string{
	costs.TokensIn: "price_in", costs.TokensCached: "price_cached", costs.TokensOut: "price_out", costs.Calls: "price_call", costs.Seconds: "price_second",
}

// UsagePriceInput is the name of the input for the prices of a quantity: float32, batch or 1 x J.
func UsagePriceInput(q costs.Quantity) string { return usagePriceInputs[q] }

// UsageOutput is the name of the output for a quantity: float32, batch x J(K+1), NaN where it is not known.
func UsageOutput(q costs.Quantity) string { return "expected_" + q.String() }

// check reports why the estimates do not fit the actions.
func (u *Usage) check(dim int, a *costs.Actions) error {
	if err := checkQuantities(u.Quantities); err != nil {
		return err
	}
	if len(u.Mean) != len(u.Quantities)*a.Len() {
		return fmt.Errorf("%d means of %d quantities for %d actions", len(u.Mean), len(u.Quantities), a.Len())
	}
	for _, v := range u.Mean {
		if v < 0 || math.IsInf(v, 0) {
			return fmt.Errorf("a mean of %g", v)
		}
	}
	if err := u.Estimate.Check(dim, len(u.Mean)); err != nil {
		return err
	}
	return u.Prices.check(u.Quantities, len(a.Experts))
}

func checkQuantities(quantities []costs.Quantity) error {
	if len(quantities) == 0 || !slices.IsSorted(quantities) || len(slices.Compact(slices.Clone(quantities))) < len(quantities) ||
		quantities[0] < 0 || quantities[len(quantities)-1] >= costs.Quantities {
		return errors.New("the quantities are not a list of ascending ones")
	}
	return nil
}

func (u *UsagePrices) check(quantities []costs.Quantity, experts int) error {
	for q, prices := range u {
		if slices.Contains(quantities, costs.Quantity(q)) != (prices != nil) || prices != nil && len(prices) != experts {
			return fmt.Errorf("%d prices of %s for %d experts", len(prices), costs.Quantity(q), experts)
		}
		for _, price := range prices {
			if !isFinite(price) || price < 0 {
				return fmt.Errorf("a price of %s is %g, not a finite number of at least 0", costs.Quantity(q), price)
			}
		}
	}
	return nil
}

// estimates are those of a row of standardised features, as the graph computes them.
func (u *Usage) estimates(x []float64) []float64 {
	out := make([]float64, len(u.Mean))
	u.Estimate.Estimate(out, x)
	for i := range out {
		out[i] = max(0, out[i])
	}
	if in, cached, pairs := u.prompts(); cached >= 0 {
		for i := range pairs {
			if !math.IsNaN(u.Mean[in+i]) {
				out[cached+i] = min(out[cached+i], out[in+i])
			}
		}
	}
	return out
}

// prompts are where the tokens of prompts and the cached ones of them begin in Estimate, and the number of pairs. cached is -1 if one
// of them is not estimated.
func (u *Usage) prompts() (in, cached, pairs int) {
	in, cached = slices.Index(u.Quantities, costs.TokensIn), slices.Index(u.Quantities, costs.TokensCached)
	if pairs = len(u.Mean) / len(u.Quantities); in < 0 || cached < 0 {
		return 0, -1, pairs
	}
	return in * pairs, cached * pairs, pairs
}

// fees adds what usage costs at the prices of the training to the fees of every pair.
func (u *Usage) fees(fees, usage []float64, a *costs.Actions) []float64 {
	out := slices.Clone(fees)
	for c, rate := range u.Prices.Rates(u.Quantities, a) {
		if rate != 0 {
			out[c%a.Len()] += rate * usage[c]
		}
	}
	return out
}

// graph has the estimates by quantity, batch x J(K+1), NaN where they are not known.
func (u *Usage) graph(g *onnx.Graph, standard *onnx.Value, pairs int) []*onnx.Value {
	all := g.Relu(u.Estimate.Graph(g, standard, "usage_"))
	in, cached, _ := u.prompts()
	var out []*onnx.Value
	for n := range u.Quantities {
		columns, unknown := make([]int64, pairs), make([]float32, pairs)
		for i := range columns {
			columns[i] = int64(n*pairs + i)
			if math.IsNaN(u.Mean[n*pairs+i]) {
				unknown[i] = float32(math.NaN())
			}
		}
		own := g.Gather(all, g.Const(onnx.Int64s([]int64{int64(pairs)}, columns)), 1)
		if n*pairs == cached {
			prompts, unlimited := make([]int64, pairs), make([]float32, pairs)
			for i := range prompts {
				prompts[i] = int64(in + i)
				if math.IsNaN(u.Mean[in+i]) {
					unlimited[i] = math.MaxFloat32
				}
			}
			most := g.Gather(all, g.Const(onnx.Int64s([]int64{int64(pairs)}, prompts)), 1)
			own = g.Min(own, g.Max(most, g.Const(onnx.Float32s([]int64{1, int64(pairs)}, unlimited))))
		}
		if slices.ContainsFunc(unknown, func(v float32) bool { return v != v }) {
			own = g.Add(own, g.Const(onnx.Float32s([]int64{1, int64(pairs)}, unknown)))
		}
		out = append(out, own)
	}
	return out
}

// means are the mean usage by quantity, as graph has the estimates.
func (u *Usage) means(g *onnx.Graph, pairs int) []*onnx.Value {
	var out []*onnx.Value
	for n := range u.Quantities {
		mean := make([]float32, pairs)
		for i := range mean {
			mean[i] = float32(u.Mean[n*pairs+i])
		}
		out = append(out, g.Const(onnx.Float32s([]int64{1, int64(pairs)}, mean)))
	}
	return out
}

// rates are the fees of a unit of every quantity, as [UsagePrices.Rates], of prices that are inputs or constants.
func (u *Usage) rates(g *onnx.Graph, a *costs.Actions, input func(name string, t onnx.DType, width int) *onnx.Value) []*onnx.Value {
	experts := make([]int64, a.Len())
	for i := range experts {
		j, _ := a.Pair(i)
		experts[i] = int64(j)
	}
	of := g.Const(onnx.Int64s([]int64{int64(len(experts))}, experts))
	prices := make(map[costs.Quantity]*onnx.Value)
	var out []*onnx.Value
	for _, q := range u.Quantities {
		if input != nil {
			prices[q] = input(UsagePriceInput(q), onnx.Float32, len(a.Experts))
		} else {
			prices[q] = g.Const(onnx.Float32s([]int64{1, int64(len(a.Experts))}, float32s(u.Prices[q])))
		}
		price := prices[q]
		if in := prices[costs.TokensIn]; q == costs.TokensCached && in != nil {
			price = g.Sub(price, in)
		}
		if unit(q) != 1 {
			price = g.Mul(price, g.Scalar(onnx.Float32, 1/unit(q)))
		}
		out = append(out, g.Gather(price, of, 1))
	}
	return out
}

func float32s(v []float64) []float32 {
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x)
	}
	return out
}

// usageFees adds what usage costs to fees. What has no price costs nothing, also where the usage is not known; else the fee
// is not known then, NaN, and no action of the row is the best.
func usageFees(g *onnx.Graph, fees *onnx.Value, rates, usage []*onnx.Value) *onnx.Value {
	zero := g.Scalar(onnx.Float32, 0)
	for n, rate := range rates {
		fees = g.Add(fees, g.Where(g.Equal(rate, zero), zero, g.Mul(rate, usage[n])))
	}
	return fees
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
