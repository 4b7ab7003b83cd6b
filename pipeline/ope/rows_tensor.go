package ope

import (
	"context"
	"maps"
	"math"
	"slices"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/pipeline/stage"
)

// readTensor reads the rows of a cost tensor on which one pair was executed.
func readTensor(ctx context.Context, o *Options, bar stage.Progress) (*costs.Tensor, *rows, error) {
	bar.Start(0, "rows")
	defer bar.Done()
	t, err := costs.Read(ctx, o.Costs, costs.ReadOptions{Actions: o.Actions, Unknown: true})
	if err != nil {
		return nil, nil, err
	}
	r := &rows{file: o.Costs.String(), prices: "those of " + o.Costs.Base()}
	if !o.PriceFile.IsZero() {
		table, err := prices.Read(ctx, o.PriceFile)
		if err != nil {
			return nil, nil, err
		}
		if t, err = prices.AtPrices(t, table); err != nil {
			return nil, nil, err
		}
		r.prices += ", measured fees at those of " + o.PriceFile.Base()
	}
	r.meta = map[string]string{}
	maps.Copy(r.meta, t.Meta)
	r.actions, r.dim, r.timed, r.users = t.Actions, t.Dim, t.Times != nil, t.Groups != nil
	wanted := o.Splits
	for n := range t.Len() {
		if !slices.Contains(wanted, t.Splits[n]) {
			r.left.add(1, "of the split %s; --split takes other rows", t.Splits[n])
			continue
		}
		r.take(t, n)
	}
	if r.len() == 0 {
		return nil, nil, &costs.DataError{File: r.file, Msg: "no row is left: " + r.left.text()}
	}
	r.sort()
	return t, r, nil
}

// take adds row n of a tensor, or says why it is none.
func (r *rows) take(t *costs.Tensor, n int) {
	pair, mask := t.Observed(n), t.Actions.Mask()
	if pair < 0 {
		known := slices.ContainsFunc(t.Losses(n), func(v float32) bool { return v == v })
		r.left.add(1, "%s", map[bool]string{true: "the outcomes of several pairs are known: no single draw", false: "no outcome is known"}[known])
		return
	}
	at := n*t.Actions.Len() + pair
	loss := float64(t.Loss[at])
	if t.Fee != nil {
		loss += float64(t.Fee[at])
	}
	r.id, r.executed, r.loss = append(r.id, t.IDs[n]), append(r.executed, pair), append(r.loss, loss)
	r.features, r.open = append(r.features, t.Row(n)...), append(r.open, mask...)
	r.keep, r.delay, r.loggers = append(r.keep, 1), append(r.delay, math.NaN()), append(r.loggers, "")
	at64, user := int64(0), ""
	if r.timed {
		at64 = t.Times[n]
	}
	if r.users {
		user = t.Groups[n]
	}
	r.time, r.user = append(r.time, at64), append(r.user, user)
	if t.Propensity == nil {
		r.logged = append(r.logged, slices.Repeat([]float64{math.NaN()}, len(mask))...)
	} else {
		r.logged = append(r.logged, t.Propensities(n)...)
	}
}
