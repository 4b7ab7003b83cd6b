package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/strictjson"
)

// MaxFee is the largest fee or price that a [PriceChange] may set.
const MaxFee = costs.MaxLambda

// UsageKey is the key of the metadata of a policy for its [UsageInfo], a JSON object.
const UsageKey = "usage"

// UsageInfo says what a policy file knows of usage.
type UsageInfo struct {
	Quantities []costs.Quantity
	Prices     UsagePrices              // those of the file
	Known      [costs.Quantities][]bool // by expert: whether it is known what all of its pairs use; nil for other quantities
	// Mean is what every pair used on average over the training rows, NaN where it is not known; nil for other quantities, and for
	// all of a file that does not say.
	Mean costs.Usage
}

// Knows reports whether something that an expert uses is known, so that its fees are not part of expected losses. It is false of
// nil.
func (u *UsageInfo) Knows(expert int) bool {
	return u != nil && slices.ContainsFunc(u.Known[:], func(known []bool) bool { return known != nil && known[expert] })
}

// Uses reports whether the pairs of an expert used anything of a quantity on the training rows. It
// is true if no means of the quantity are recorded. Pairs without a mean count as using nothing.
func (u *UsageInfo) Uses(q costs.Quantity, expert int) bool {
	mean := u.Mean[q]
	if mean == nil {
		return true
	}
	levels := len(mean) / len(u.Known[q])
	return slices.ContainsFunc(mean[expert*levels:(expert+1)*levels], func(v float32) bool { return v > 0 })
}

// usageJSON is the form of [UsageInfo] in a file, with lists in the order of the experts, or of the pairs.
type usageJSON struct {
	Prices map[string][]float64  `json:"prices"`
	Known  map[string][]bool     `json:"known"`
	Mean   map[string][]*float32 `json:"mean,omitempty"` // null: not known
}

func (p *Policy) usageJSON() string {
	u := p.Estimate.Usage
	out := usageJSON{map[string][]float64{}, map[string][]bool{}, map[string][]*float32{}}
	for n, q := range u.Quantities {
		known := slices.Repeat([]bool{true}, len(p.Actions.Experts))
		for i := range p.Actions.Len() {
			if j, _ := p.Actions.Pair(i); p.Actions.Available(i) && math.IsNaN(u.Mean[n*p.Actions.Len()+i]) {
				known[j] = false
			}
		}
		mean := make([]*float32, p.Actions.Len())
		for i := range mean {
			if v := float32(u.Mean[n*len(mean)+i]); v == v {
				mean[i] = &v
			}
		}
		out.Prices[q.String()], out.Known[q.String()], out.Mean[q.String()] = u.Prices[q], known, mean
	}
	return out.text()
}

// readUsage reads the metadata of a policy with usage.
func (info *Info) readUsage(meta map[string]string) error {
	text, ok := meta[keyPrefix+UsageKey]
	if !ok {
		return nil
	}
	fail := func(err error) error { return fmt.Errorf("metadata %s%s: %w", keyPrefix, UsageKey, err) }
	var in usageJSON
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return fail(strictjson.Plain(err))
	}
	u, experts := &UsageInfo{}, len(info.Actions.Experts)
	for q := range costs.Quantities {
		name := q.String()
		prices, ok := in.Prices[name]
		if !ok {
			continue
		}
		u.Quantities = append(u.Quantities, q)
		u.Prices[q], u.Known[q] = prices, in.Known[name]
		if len(u.Known[q]) != experts {
			return fail(fmt.Errorf("%d experts of %s, the policy has %d", len(u.Known[q]), name, experts))
		}
		if mean, ok := in.Mean[name]; ok {
			if u.Mean[q] = readMean(mean); len(u.Mean[q]) != info.Actions.Len() {
				return fail(fmt.Errorf("%d means of %s for %d pairs", len(mean), name, info.Actions.Len()))
			}
		}
		delete(in.Prices, name)
	}
	if len(in.Prices) > 0 {
		return fail(fmt.Errorf("unknown quantity %q", slices.Sorted(maps.Keys(in.Prices))[0]))
	}
	if info.Decoder != DecoderEstimate {
		return fail(fmt.Errorf("is of policies with the decoder %s", DecoderEstimate))
	}
	err := checkQuantities(u.Quantities)
	if err == nil {
		err = u.Prices.check(u.Quantities, experts)
	}
	if err != nil {
		return fail(err)
	}
	info.Usage = u
	return nil
}

func readMean(values []*float32) []float32 {
	mean := make([]float32, len(values))
	for i, v := range values {
		if mean[i] = float32(math.NaN()); v != nil {
			mean[i] = *v
		}
	}
	return mean
}

// UsagePrice is the price of what an expert uses of a quantity, such as tokens_out, as in [UsagePrices].
type UsagePrice struct {
	Expert, Quantity string
	Price            float64 // from 0 to MaxFee
}

// setUsage sets prices by names. Where it is not known how many tokens are cached, they cost as others of the prompt.
func (info *Info) setUsage(u UsagePrices, list []UsagePrice) (UsagePrices, error) {
	if len(list) == 0 {
		return u, nil
	}
	if info.Usage == nil {
		return u, errNoUsage
	}
	u = u.Times(1, -1)
	for _, p := range list {
		j, err := Expert(p.Expert).position(info.Actions)
		if err != nil {
			return u, err
		}
		n := slices.IndexFunc(info.Usage.Quantities, func(q costs.Quantity) bool { return q.String() == p.Quantity })
		switch {
		case n < 0:
			return u, fmt.Errorf("expert %q has a price of %q, which the policy does not know; it knows %v", p.Expert, p.Quantity, info.Usage.Quantities)
		case !(p.Price >= 0 && p.Price <= MaxFee):
			return u, fmt.Errorf("expert %q has a price of %s of %g, not from 0 to %g", p.Expert, p.Quantity, p.Price, MaxFee)
		}
		u[info.Usage.Quantities[n]][j] = p.Price
	}
	if in, cached := u[costs.TokensIn], u[costs.TokensCached]; in != nil && cached != nil {
		for j, known := range info.Usage.Known[costs.TokensCached] {
			if !known {
				cached[j] = in[j]
			}
		}
	}
	return u, nil
}

var errNoUsage = errors.New("the policy knows nothing of what calls use, so tokens cannot have prices: it was not trained on a table with usage")

// checkUsage reports prices of usage that the policy does not have, or of usage that it does not know.
func (info *Info) checkUsage(u *UsagePrices) error {
	if info.Usage == nil {
		if !u.Equal(&UsagePrices{}) {
			return errNoUsage
		}
		return nil
	}
	for q, prices := range u {
		quantity := costs.Quantity(q)
		if !slices.Contains(info.Usage.Quantities, quantity) {
			if i := slices.IndexFunc(prices, func(v float64) bool { return v != 0 }); i >= 0 && i < len(info.Actions.Experts) {
				return fmt.Errorf("expert %q has a price of %s, which the policy does not know", info.Actions.Experts[i].Name, quantity)
			}
			if prices != nil {
				return fmt.Errorf("there are prices of %s, which the policy does not know", quantity)
			}
			continue
		}
		if len(prices) != len(info.Actions.Experts) {
			return fmt.Errorf("%d prices of %s for %d experts", len(prices), quantity, len(info.Actions.Experts))
		}
		for j := range prices {
			if u.rate(quantity, j) != 0 && !info.Usage.Known[q][j] {
				return fmt.Errorf("expert %q has a price of %s, but the policy does not know how much it uses", info.Actions.Experts[j].Name, quantity)
			}
		}
		if slices.ContainsFunc(prices, func(v float64) bool { return !isFinite(float64(float32(v))) }) {
			return fmt.Errorf("a price of %s is not finite", quantity)
		}
	}
	return nil
}

// pricedExperts is the number of experts whose usage has a price in the file.
func (info *Info) pricedExperts() (n int) {
	if info.Usage == nil {
		return 0
	}
	for j := range info.Actions.Experts {
		if info.Usage.Prices.Of(j) {
			n++
		}
	}
	return n
}

// changedUsage are the experts whose prices of usage differ from those of the file, each with the factor between the two; NaN
// if there is no single one.
func (info *Info) changedUsage(u *UsagePrices) (experts []int, factors []float64) {
	if info.Usage == nil {
		return nil, nil
	}
	for j := range info.Actions.Experts {
		factor, differs := math.Inf(-1), false
		for _, q := range info.Usage.Quantities {
			old, now := info.Usage.Prices[q][j], u[q][j]
			differs = differs || old != now
			own := now / old
			switch {
			case old == 0 && now == 0:
			case math.IsInf(factor, -1):
				factor = own
			case math.Abs(own-factor) > 1e-9*math.Abs(factor) || own-own != 0:
				factor = math.NaN()
			}
		}
		if differs {
			experts, factors = append(experts, j), append(factors, factor)
		}
	}
	return experts, factors
}

// pricedUsage is the metadata of usage with other prices.
func pricedUsage(text string, at UsagePrices) string {
	var u usageJSON
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		panic(err) // it was read before
	}
	for q, prices := range at {
		if prices != nil {
			u.Prices[costs.Quantity(q).String()] = prices
		}
	}
	return u.text()
}

func (u usageJSON) text() string {
	b, err := json.Marshal(u)
	if err != nil {
		panic(err) // plain numbers
	}
	return string(b)
}
