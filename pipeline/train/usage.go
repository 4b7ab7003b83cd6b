package train

import (
	"strings"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// usagePrices are the prices of what calls use, from which an any-price policy makes fees; nil if the tensor has no usage or
// records no prices of it, so that measured fees are part of the estimates.
func usagePrices(t *costs.Tensor, progress stage.Progress) (*policy.UsagePrices, error) {
	text, priced := t.Meta[costs.PricesKey]
	money, worth, err := costs.MoneyOf(t.Meta)
	if err != nil || !priced || !worth || t.Fee == nil || !t.Usage.Known() {
		return nil, err
	}
	r, err := prices.ParseRecorded(text)
	if err != nil {
		return nil, &costs.DataError{Column: costs.PricesKey, Err: err}
	}
	u, err := decide.UsageAt(t.Actions, decide.KnownUsage(t), r, money)
	if err != nil {
		progress.Note("measured fees stay part of the expected losses, so prices of tokens cannot be changed: %v", err)
		return nil, nil
	}
	if long := decide.LongPrompts(t.Actions, r); len(long) > 0 {
		progress.Note("the prices of long prompts are left out of the policy, which knows the mean number of tokens alone: %s", strings.Join(long, ", "))
	}
	return &u, nil
}
