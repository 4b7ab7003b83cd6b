package fromlog

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// pay adds the money of a call, and what it used, to its instance.
func (t *tensors) pay(at *instance, pair int, d decisionlog.Decision) {
	for q, v := range usageOf(d) {
		at.used[pair][q] += v
	}
	money, known, same := t.meter.call(d)
	if !known {
		return
	}
	at.money[pair] += money
	at.paid[pair]++
	if !same {
		t.otherPrices++
	}
}

// share takes what a version of the policy has in common with the tensor that it was trained on. It must be that of earlier
// versions. Logs of earlier programs state none.
func (t *tensors) share(about *decisionlog.PolicyInfo) error {
	if len(about.Meta) == 0 {
		return nil
	}
	if t.meta != nil && !maps.Equal(t.meta, about.Meta) {
		return &costs.DataError{Column: "policy", Msg: fmt.Sprintf("is %s, which was trained with other %s than that of earlier decisions; choose one by --policy NAME@DIGEST", about.Name, firstOther(t.meta, about.Meta))}
	}
	t.meta = about.Meta
	text, measured := t.meta[costs.MeterKey]
	if !measured || t.options.NoFees {
		return nil
	}
	var err error
	t.meter, err = newMeter(text)
	return err
}

// firstOther is the first key that two maps do not share.
func firstOther(a, b map[string]string) string {
	keys := slices.Collect(maps.Keys(a))
	for _, key := range slices.Sorted(slices.Values(slices.AppendSeq(keys, maps.Keys(b)))) {
		if a[key] != b[key] {
			return key
		}
	}
	return ""
}

// settle says what a loss of 1 is worth. A tensor with measured fees needs that.
func (t *tensors) settle(r *Result) (err error) {
	r.Money, err = costs.MoneyFor(t.meta, t.options.Money)
	if err == nil && r.Money == nil && t.meter != nil {
		return noMoney(t.options.Log.String())
	}
	r.Measured = t.meter != nil
	return err
}

// forget makes outcomes unknown whose fee is not known: what such a call cost is not known. Instances without any other
// outcome are left out.
func (t *tensors) forget(r *Result) error {
	if t.meter == nil {
		return nil
	}
	before := len(t.instances)
	t.instances = slices.DeleteFunc(t.instances, func(at instance) bool {
		for i, n := range at.count {
			if at.paid[i] < n {
				r.NoFee += n
				at.count[i] = 0
			}
		}
		return !slices.ContainsFunc(at.count, func(n int) bool { return n > 0 })
	})
	if before > 0 && len(t.instances) == 0 {
		return noFees(t.options.Log.String(), r.NoFee)
	}
	return nil
}

// fee is the mean measured fee of a pair, NaN where its outcome is not known.
func (at *instance) fee(pair int, money *costs.Money) float32 {
	if at.count[pair] == 0 {
		return float32(math.NaN())
	}
	return float32(at.money[pair] / float64(at.count[pair]) / money.PerLoss)
}

// usage is what calls used, by quantity, NaN where it is not known.
type usage [costs.Quantities]float64

// usageOf is what the call used that answered.
func usageOf(d decisionlog.Decision) (u usage) {
	for q := range u {
		u[q] = math.NaN()
	}
	if d.Usage.Known {
		u[costs.TokensIn], u[costs.TokensOut], u[costs.Calls] = float64(d.Usage.In), float64(d.Usage.Out), 1
	}
	if d.Usage.CachedKnown {
		u[costs.TokensCached] = float64(d.Usage.Cached)
	}
	if d.Stages.Expert > 0 {
		u[costs.Seconds], u[costs.Calls] = seconds(d.Record), 1
	}
	return u
}

// addUsage appends the mean usage of a pair.
func (at *instance) addUsage(to *costs.Tensor, pair int) {
	for q, v := range at.used[pair] {
		if at.count[pair] == 0 {
			v = math.NaN()
		}
		to.Usage[q] = append(to.Usage[q], float32(v/float64(at.count[pair])))
	}
}

// dropUnknown leaves out the columns in which nothing is known.
func dropUnknown(u *costs.Usage) {
	for q, values := range u {
		if !slices.ContainsFunc(values, func(v float32) bool { return v == v }) {
			u[q] = nil
		}
	}
}

// header is the metadata of the tensors.
func (t *tensors) header(money *costs.Money) map[string]string {
	meta := map[string]string{}
	if names, ok := t.meta[costs.NamesKey]; ok && t.options.Anew == nil {
		meta[costs.NamesKey] = names
	}
	if money != nil {
		meta[costs.MoneyKey] = money.Text()
	}
	if t.meter != nil && t.meter.text != "{}" && t.otherPrices == 0 {
		meta[costs.PricesKey] = t.meter.text
	}
	return meta
}
