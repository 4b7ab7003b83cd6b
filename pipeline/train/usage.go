package train

import (
	"math"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// usagePrices are the prices of what calls use, from which an any-price policy makes fees. They are nil, so that measured fees are
// part of the estimates, if the tensor has no usage, and with a note if it records no prices of it, if its fees are not those of its
// usage at these prices, if usage is known on too few rows, or if rows of a log judge.
func usagePrices(t *costs.Tensor, progress stage.Progress) (*policy.UsagePrices, error) {
	text, priced := t.Meta[costs.PricesKey]
	money, worth, err := costs.MoneyOf(t.Meta)
	if err != nil || t.Fee == nil || !t.Usage.Known() {
		return nil, err
	}
	if t.Propensity != nil && t.UnknownCells() > 0 {
		progress.Note("measured fees stay part of the expected losses, so prices of tokens cannot be changed: what the pairs used that a log did not execute is not known")
		return nil, nil
	}
	const stay = "measured fees stay part of the expected losses, so prices of tokens cannot be changed: "
	if !priced || !worth {
		progress.Note(stay + "the table has usage, but records no prices, or not what a loss of 1 is worth, as when files with other prices are merged; --prices FILE computes fees from usage")
		return nil, nil
	}
	r, err := prices.ParseRecorded(text)
	if err != nil {
		return nil, &costs.DataError{Column: costs.PricesKey, Err: err}
	}
	u, err := decide.UsageAt(t.Actions, decide.KnownUsage(t), r, money)
	if err != nil {
		progress.Note(stay+"%v", err)
		return nil, nil
	}
	rows := t.CompleteRows(t.Rows(costs.Train))
	known, other := compareFees(t, &u, rows)
	switch {
	case other > 0:
		progress.Note(stay+"%d fees are not those of their usage at the recorded prices, as with dated prices, prices of long prompts, or other money; "+
			"--prices FILE computes fees again", other)
		return nil, nil
	case 2*known < len(rows):
		progress.Note(stay+"what all pairs used is known on %d of %d complete training rows", known, len(rows))
		return nil, nil
	case known < len(rows):
		progress.Note("what all pairs used is known on %d of %d complete training rows; only these judge", known, len(rows))
	}
	return &u, nil
}

// compareFees counts the rows on which the usage of every pair with a price is known, and the fees that are known not to be those of
// their usage.
func compareFees(t *costs.Tensor, u *policy.UsagePrices, rows []int) (known, other int) {
	var quantities []costs.Quantity
	for q := range costs.Quantities {
		if u[q] != nil {
			quantities = append(quantities, q)
		}
	}
	pairs := t.Actions.Len()
	rates := u.Rates(quantities, t.Actions)
	for _, n := range rows {
		all := true
		for i := range pairs {
			if j, _ := t.Actions.Pair(i); !t.Actions.Available(i) || !u.Of(j) {
				continue
			}
			fee := 0.0
			for k, q := range quantities {
				if rate := rates[k*pairs+i]; rate != 0 {
					fee += rate * float64(t.Usage[q][n*pairs+i])
				}
			}
			const precision, least = 1e-4, 1e-9
			switch paid := float64(t.Fee[n*pairs+i]); {
			case math.IsNaN(fee):
				all = false
			case math.Abs(paid-fee) > precision*max(paid, fee)+least:
				other++
			}
		}
		if all {
			known++
		}
	}
	return known, other
}
