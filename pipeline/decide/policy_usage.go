package decide

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/models/policy"
	"pipe/pipeline/stage"
)

// UsageAt are the prices of what the calls of every expert use, in the unit of the task loss, at recorded prices of models, the
// last ones of each. A price of what an expert is not known to use is an error, and so is a known use of tokens without a price,
// unless none were used.
func UsageAt(a *costs.Actions, u *policy.UsageInfo, r *prices.Recorded, money costs.Money) (out policy.UsagePrices, err error) {
	known := u.Known
	for q, of := range known {
		if of != nil {
			out[q] = make([]float64, len(a.Experts))
		}
	}
	for j, e := range a.Experts {
		rates, ok := r.Rates(e.Name)
		if rates.ReasoningApart && u.Uses(costs.TokensOut, j) {
			return out, fmt.Errorf("expert %s has another price of reasoning than of other tokens of an answer, which a policy cannot use: it knows the mean number of all of them", textfile.Quoted(e.Name))
		}
		for q, price := range pricesOf(rates, ok) {
			has := known[q] != nil && known[q][j]
			switch {
			case !ok && has && costs.Quantity(q) <= costs.TokensOut:
				return out, fmt.Errorf("expert %s has no price: there is no model %s in the price file", textfile.Quoted(e.Name), textfile.Quoted(r.Model(e.Name)))
			case math.IsNaN(price) && has && u.Uses(costs.Quantity(q), j):
				return out, fmt.Errorf("expert %s uses %s, which have no price", textfile.Quoted(e.Name), costs.Quantity(q))
			case has && price == price:
				out[q][j] = price / money.PerLoss
			case price > 0 && ok && costs.Quantity(q) != costs.TokensCached && costs.Quantity(q) != costs.Seconds:
				return out, fmt.Errorf("expert %s has a price of %s, but it is not known how much it uses", textfile.Quoted(e.Name), costs.Quantity(q))
			}
		}
		if out[costs.TokensCached] != nil && out[costs.TokensIn] != nil && (!known[costs.TokensCached][j] || math.IsNaN(rates.Cached)) {
			out[costs.TokensCached][j] = out[costs.TokensIn][j] // so that it does not matter how many were cached
		}
	}
	return out, nil
}

// pricesOf are the prices of an expert by quantity, NaN where there is none.
func pricesOf(r prices.Rates, ok bool) (out [costs.Quantities]float64) {
	out[costs.Seconds] = r.PerSecond
	if ok {
		out[costs.TokensIn], out[costs.TokensCached], out[costs.TokensOut], out[costs.Calls] = r.In, r.Cached, r.Out, r.Call
	}
	return out
}

// LongPrompts names the experts whose models have other prices for long prompts. A policy knows mean tokens alone, so it cannot
// use these.
func LongPrompts(a *costs.Actions, r *prices.Recorded) (experts []string) {
	for _, e := range a.Experts {
		if rates, ok := r.Rates(e.Name); ok && len(rates.Above) > 0 {
			experts = append(experts, e.Name)
		}
	}
	return experts
}

// UsageOf are the prices of usage by the metadata of a tensor, for a policy with usage; nil for another policy, and where the
// metadata say nothing of prices.
func UsageOf(info *policy.Info, meta map[string]string) (*policy.UsagePrices, error) {
	text, ok := meta[costs.PricesKey]
	money, worth, err := costs.MoneyOf(meta)
	if info.Usage == nil || !ok || !worth || err != nil {
		return nil, err
	}
	r, err := prices.ParseRecorded(text)
	if err != nil {
		return nil, &costs.DataError{Column: costs.PricesKey, Err: err}
	}
	out, err := UsageAt(info.Actions, info.Usage, r, money)
	if err != nil {
		return nil, &costs.DataError{Column: costs.PricesKey, Err: err}
	}
	return &out, nil
}

// ErrNoUsage is the error for a price file where a policy has no usage.
var ErrNoUsage = errors.New("the policy knows nothing of what calls use: only an any-price policy that was trained on a table with usage has prices of tokens")

// PriceUsage adds the prices of a file to a change; nothing changes without a file.
func (f *PolicyFile) PriceUsage(ctx context.Context, file storage.Location, c *policy.PriceChange) error {
	if file.IsZero() {
		return nil
	}
	fail := func(err error) error { return &stage.OptionError{Err: fmt.Errorf("prices %q: %w", file, err)} }
	if f.Info.Usage == nil {
		return fail(ErrNoUsage)
	}
	list, err := prices.Read(ctx, file)
	if err != nil {
		return err
	}
	usage, err := ListedUsage(f.Info, list)
	if err != nil {
		return dataerror.InFile(file.String(), &costs.DataError{Err: err})
	}
	c.Usage = &usage
	return nil
}

// ListedUsage are the prices of a list for a policy with usage. Its models are those that the policy was trained with, or have the
// names of experts.
func ListedUsage(info *policy.Info, list *prices.Table) (u policy.UsagePrices, err error) {
	shared := info.Shared()
	money, ok, err := costs.MoneyOf(shared)
	if err == nil && !ok {
		err = errors.New("the policy does not say what a loss of 1 is worth in money")
	}
	if err != nil {
		return u, err
	}
	before, err := prices.ParseRecorded(shared[costs.MeterKey])
	if err != nil {
		return u, err
	}
	now, err := before.With(list)
	if err == nil && money.Currency != list.Currency {
		err = fmt.Errorf("the prices are in %s, those of the policy in %s", list.Currency, money.Currency)
	}
	if err != nil {
		return u, err
	}
	if long := LongPrompts(info.Actions, now); len(long) > 0 {
		return u, fmt.Errorf("expert %s has other prices for long prompts (above), which a policy cannot use: it knows the mean number of tokens alone", textfile.Quoted(long[0]))
	}
	return UsageAt(info.Actions, info.Usage, now, money)
}

// KnownUsage says of which experts a quantity is known on some row, for every pair that exists, and the means; nil where it is known
// of none.
func KnownUsage(t *costs.Tensor) *policy.UsageInfo {
	u, pairs := &policy.UsageInfo{}, t.Actions.Len()
	for q, values := range t.Usage {
		if values == nil {
			continue
		}
		mean, count := make([]float32, pairs), make([]float32, pairs)
		for i, v := range values {
			if v == v {
				mean[i%pairs], count[i%pairs] = mean[i%pairs]+v, count[i%pairs]+1
			}
		}
		of := slices.Repeat([]bool{true}, len(t.Actions.Experts))
		for i := range mean {
			if j, _ := t.Actions.Pair(i); count[i] == 0 && t.Actions.Available(i) {
				of[j] = false
			}
			mean[i] /= count[i]
		}
		if slices.Contains(of, true) {
			u.Known[q], u.Mean[q] = of, mean
		}
	}
	return u
}
