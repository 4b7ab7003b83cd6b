package auto

import (
	"context"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/estimate"
	"pipe/models/policy"
	"pipe/models/regress"
)

// usage is what the calls of the training rows used, and estimates of it. A column is a quantity of a pair, quantity by
// quantity.
type usage struct {
	quantities []costs.Quantity
	prices     policy.UsagePrices
	actions    *costs.Actions
	data       *regress.Data // losses are usage divided by scale
	scale      []float64     // by column: the mean over the rows where it is known; NaN: it is known of none
	mean       []float64     // by column: over complete rows
	ridge      regress.Ridge
	penalty    int       // of ridge, the one that estimates best; -1: nothing could be held out
	slope      []float64 // by column: how estimates of held-out rows become calibrated ones
	offset     []float64
	held       []float32 // calibrated estimates, held-out rows x columns
}

// pricedUsage returns the tensor without the measured fees that are made of usage, and its quantities. Nothing changes if
// the usage of no expert has a price.
func pricedUsage(t *costs.Tensor, prices *policy.UsagePrices) (*costs.Tensor, []costs.Quantity) {
	if prices == nil {
		return t, nil
	}
	var quantities []costs.Quantity
	for q, of := range prices {
		if of == nil || t.Usage[q] == nil {
			continue
		}
		quantities = append(quantities, costs.Quantity(q))
	}
	if len(quantities) == 0 || t.Fee == nil {
		return t, quantities
	}
	out := *t
	out.Fee = slices.Clone(t.Fee)
	for i, fee := range out.Fee {
		if j, _ := t.Actions.Pair(i % t.Actions.Len()); prices.Of(j) && fee == fee {
			out.Fee[i] = 0
		}
	}
	return &out, quantities
}

// newUsage reads the usage of the rows of the table, whose standardised features and weights are those of the losses.
func newUsage(t *table, quantities []costs.Quantity, s Settings) *usage {
	pairs := t.data.Pairs
	u := &usage{quantities: quantities, actions: t.full.Actions, ridge: regress.Ridge{Penalties: usagePenalties}, penalty: -1}
	for _, q := range quantities {
		u.prices[q] = s.Usage[q]
	}
	columns := len(quantities) * pairs
	u.scale = make([]float64, columns)
	count := make([]float64, columns)
	for _, n := range t.rows {
		u.each(t.full, n, func(c int, v float64) { u.scale[c], count[c] = u.scale[c]+v, count[c]+1 })
	}
	for c := range u.scale {
		switch u.scale[c] /= count[c]; {
		case !t.data.Mask[c%pairs]:
			u.scale[c] = math.NaN()
		case u.scale[c] == 0:
			u.scale[c] = 1
		}
	}
	d := &regress.Data{
		X: t.data.X, Dim: t.data.Dim, Pairs: columns, Weight: t.data.Weight, ExpertFees: make([]float64, columns), AdviceFees: []float64{0},
		Mask: slices.Repeat([]bool{true}, columns), Y: make([]float32, len(t.rows)*columns),
	}
	known := make([]bool, len(d.Y))
	for c, v := range u.scale {
		if v != v { // a column of zeros keeps its place
			for n := range t.rows {
				known[n*columns+c] = true
			}
		}
	}
	for row, n := range t.rows {
		u.each(t.full, n, func(c int, v float64) {
			d.Y[row*columns+c], known[row*columns+c] = float32(v/u.scale[c]), true
		})
	}
	if slices.Contains(known, false) {
		d.Known = known
	}
	u.data = d
	return u
}

// usagePenalties are those of the ridge regressions that estimate usage: as for losses, without the weakest.
var usagePenalties = []float64{100, 1000, 10_000, 100_000}

// each calls do for the columns of row n of the tensor that are known, of pairs that exist.
func (u *usage) each(t *costs.Tensor, n int, do func(column int, used float64)) {
	pairs := t.Actions.Len()
	for k, q := range u.quantities {
		for i, v := range t.Usage[q][n*pairs : (n+1)*pairs] {
			if v == v && t.Actions.Available(i) {
				do(k*pairs+i, float64(v))
			}
		}
	}
}

// paid are those of the rows on which it is known what every column with a price used.
func (u *usage) paid(rows []int) (out []int) {
	rates := u.prices.Rates(u.quantities, u.actions)
	for _, row := range rows {
		known := true
		for c, rate := range rates {
			known = known && (rate == 0 || u.isKnown(row, c))
		}
		if known {
			out = append(out, row)
		}
	}
	return out
}

func (u *usage) isKnown(row, column int) bool {
	return u.data.Known == nil || u.data.Known[row*u.data.Pairs+column]
}

// means sets the mean usage over rows.
func (u *usage) means(rows []int) {
	u.mean = make([]float64, len(u.scale))
	total := make([]float64, len(u.scale))
	weights := u.data.Weights(rows)
	for i, row := range rows {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		for c, v := range u.data.Losses(row) {
			if u.isKnown(row, c) {
				u.mean[c], total[c] = u.mean[c]+w*float64(v)*u.scale[c], total[c]+w
			}
		}
	}
	for c := range u.mean {
		u.mean[c] /= total[c] // NaN where it is known of no row
	}
}

// crossFit estimates the usage of the held-out rows by what was fitted on the others, as losses are estimated.
func (u *usage) crossFit(ctx context.Context, t *table) error {
	folds, err := u.ridge.CrossFit(ctx, u.data, t.folds)
	if err != nil {
		return err
	}
	best := math.Inf(1)
	for m := range u.ridge.Penalties {
		var all []float32
		for _, fold := range folds {
			all = append(all, fold[m]...)
		}
		if e := u.error(t, all); e < best {
			best, u.penalty, u.held = e, m, all
		}
	}
	u.calibrate(t)
	return nil
}

// error is the squared error of estimates for the held-out rows.
func (u *usage) error(t *table, estimates []float32) (e float64) {
	columns := u.data.Pairs
	for n, row := range t.held {
		for c, v := range u.data.Losses(row) {
			if off := float64(estimates[n*columns+c] - v); u.isKnown(row, c) {
				e += t.weight(n) * off * off
			}
		}
	}
	return e
}

// calibrate fits a line per column from estimates to usage, on the held-out rows, and applies it. So the mean estimate is
// the mean usage of rows that did not fit it.
func (u *usage) calibrate(t *table) {
	columns := u.data.Pairs
	u.slope, u.offset = make([]float64, columns), make([]float64, columns)
	for c := range columns {
		var w, x, y, xx, xy float64
		for n, row := range t.held {
			if !u.isKnown(row, c) {
				continue
			}
			weight, a, b := t.weight(n), float64(u.held[n*columns+c]), float64(u.data.Losses(row)[c])
			w, x, y, xx, xy = w+weight, x+weight*a, y+weight*b, xx+weight*a*a, xy+weight*a*b
		}
		if w == 0 {
			u.slope[c] = 1 // no held-out row has it
			continue
		}
		x, y = x/w, y/w
		if spread := xx/w - x*x; spread > 1e-12*x*x {
			u.slope[c] = min(1.5, max(0, (xy/w-x*y)/spread))
		}
		u.offset[c] = y - u.slope[c]*x
	}
	for i, v := range u.held {
		c := i % columns
		u.held[i] = float32(max(0, u.offset[c]+u.slope[c]*float64(v)) * u.scale[c])
	}
	u.limit()
}

// limit keeps estimates of cached tokens at most those of the prompts, where these are known, as a policy file does.
func (u *usage) limit() {
	in, cached := slices.Index(u.quantities, costs.TokensIn), slices.Index(u.quantities, costs.TokensCached)
	if in < 0 || cached < 0 {
		return
	}
	pairs := u.actions.Len()
	for at := 0; at < len(u.held); at += u.data.Pairs {
		for i := range pairs {
			if c := in*pairs + i; u.mean[c] == u.mean[c] {
				u.held[at+cached*pairs+i] = min(u.held[at+cached*pairs+i], u.held[at+c])
			}
		}
	}
}

// actual is the usage of column c on held-out row n.
func (u *usage) actual(t *table, n, c int) float64 {
	return float64(u.data.Losses(t.held[n])[c]) * u.scale[c]
}

// fit are the estimates of a policy: fitted on all rows, or the means.
func (u *usage) fit(ctx context.Context, learned bool) (*policy.Usage, error) {
	columns := u.data.Pairs
	out := &policy.Usage{Quantities: u.quantities, Prices: u.prices, Mean: slices.Clone(u.mean)}
	if !learned || u.penalty < 0 {
		mean := slices.Clone(u.mean)
		for c, v := range mean {
			if v != v {
				mean[c] = 0
			}
		}
		out.Estimate = estimate.NewConstant(mean, u.data.Dim)
		return out, nil
	}
	weights := make([]float64, len(u.ridge.Penalties))
	weights[u.penalty] = 1
	parts, err := u.ridge.Fit(ctx, u.data, everyRow(u.data), weights)
	if err != nil {
		return nil, err
	}
	out.Estimate = parts[0].Estimator.(estimate.Linear)
	for c := range columns {
		scale := u.scale[c]
		if scale != scale {
			scale = 0
		}
		w := out.Estimate.W[c*u.data.Dim : (c+1)*u.data.Dim]
		for i := range w {
			w[i] = float32(u.slope[c] * scale * float64(w[i]))
		}
		out.Estimate.B[c] = float32((u.offset[c] + u.slope[c]*float64(out.Estimate.B[c])) * scale)
	}
	return out, nil
}
