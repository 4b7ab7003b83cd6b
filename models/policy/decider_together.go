package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/internal/finite"
)

// MostTogether is the most rows of a call of [Decider.DecideTogether].
const MostTogether = blockRows

// Ask is one of several calls that run together. Each has its own prices and its own error.
type Ask struct {
	Features []float32 // Rows x Dim, not standardised
	Rows     int       // at least 1
	// Prices are those of the file if there are none, of all rows if there is one, else one for each row. A policy with fixed
	// prices has those of the file only.
	Prices []*Prices

	Answer *Decisions // nil after an error
	Err    error      // as of [Decider.DecideAt]
}

// DecideTogether decides on the rows of several calls in one run of the graph. What is wrong with one call is the error of
// that call alone; if the run itself fails, that is the error of all. On a CPU, answers have the same bits whichever other calls
// share the run. All calls have at most MostTogether rows in total.
func (d *Decider) DecideTogether(ctx context.Context, asks []*Ask) {
	good, rows := asks[:0:0], 0
	for _, a := range asks {
		a.Answer = nil
		if a.Err = d.checkAsk(a); a.Err == nil {
			good, rows = append(good, a), rows+a.Rows
		}
	}
	if rows == 0 {
		return
	}
	if err := d.together(ctx, good, rows); err != nil {
		for _, a := range good {
			a.Answer, a.Err = nil, fmt.Errorf("decide: %w", err)
		}
	}
}

// checkAsk reports what is wrong with a call before anything runs.
func (d *Decider) checkAsk(a *Ask) error {
	if err := d.checkFeatures(a.Features, a.Rows); err != nil {
		return err
	}
	if a.Rows > MostTogether {
		return fmt.Errorf("decide: %d rows together, at most %d are possible", a.Rows, MostTogether)
	}
	if n := len(a.Prices); n > 1 && n != a.Rows {
		return fmt.Errorf("decide: prices of %d rows for %d rows", n, a.Rows)
	}
	for n, p := range a.Prices {
		if err := d.checkPrices(p); err != nil && len(a.Prices) > 1 {
			return fmt.Errorf("decide: %w", &RowError{n, err})
		} else if err != nil {
			return fmt.Errorf("decide: %w", err)
		}
	}
	return nil
}

// checkFeatures reports a wrong number of features, and the first that is not finite.
func (d *Decider) checkFeatures(features []float32, n int) error {
	if n < 1 || len(features) != n*d.info.Dim {
		return fmt.Errorf("decide: %d features for %d rows, the policy takes %d per row", len(features), n, d.info.Dim)
	}
	if i := finite.First(features); i >= 0 {
		return fmt.Errorf("decide: %w", &RowError{i / d.info.Dim, fmt.Errorf("feature %d is %v", i%d.info.Dim, features[i])})
	}
	return nil
}

// together runs the graph on calls that were checked.
func (d *Decider) together(ctx context.Context, asks []*Ask, rows int) error {
	if rows > MostTogether {
		return fmt.Errorf("%d rows together, at most %d are possible", rows, MostTogether)
	}
	size := paddedRows(rows)
	pricesOf := 1
	if d.info.Prices != nil && !d.samePrices(asks) {
		pricesOf = size
	}
	b, err := d.take(size, pricesOf)
	if err != nil {
		return err
	}
	defer d.put(b)
	d.fill(b, asks)
	if err := d.session.RunBuffers(ctx, b.in, b.out); err != nil {
		return err
	}
	first := 0
	for _, a := range asks {
		if err := d.check(b, first, a.Rows); err != nil {
			a.Err = fmt.Errorf("decide: %w", err)
		} else {
			a.Answer = d.answer(b, first, a.Rows)
		}
		first += a.Rows
	}
	return nil
}

// paddedRows is the number of rows that run for n rows. One row runs as two, because for a single row the runtime uses its
// code for vectors, which rounds differently from its code for matrices. Few sizes mean few buffers: at most a third of
// the rows is added.
func paddedRows(n int) int {
	size := 2
	for size < n {
		if half := size + size/2; size > 2 && n <= half {
			return half
		}
		size *= 2
	}
	return size
}

// samePrices reports whether one row of prices is enough for all calls.
func (d *Decider) samePrices(asks []*Ask) bool {
	first := d.pricesAt(asks[0], 0)
	for _, a := range asks {
		for n := range max(1, len(a.Prices)) {
			if !d.pricesAt(a, n).Equal(first) {
				return false
			}
		}
	}
	return true
}

// pricesAt are the prices of a row of a call.
func (d *Decider) pricesAt(a *Ask, row int) *Prices {
	switch len(a.Prices) {
	case 0:
		return d.base
	case 1:
		return a.Prices[0]
	}
	return a.Prices[row]
}

// fill writes features and prices of all calls into the inputs; the rows that no call has are copies of the first.
func (d *Decider) fill(b *batchBuffers, asks []*Ask) {
	features, dim, row := d.input(b, FeaturesInput).Float32s(), d.info.Dim, 0
	for _, a := range asks {
		copy(features[row*dim:], a.Features)
		row += a.Rows
	}
	for n := row; n < b.rows; n++ {
		copy(features[n*dim:(n+1)*dim], features[:dim])
	}
	if d.info.Prices == nil {
		return
	}
	if b.prices == 1 {
		d.loadRow(b, d.pricesAt(asks[0], 0), 0)
		return
	}
	row = 0
	for _, a := range asks {
		for n := range a.Rows {
			d.loadRow(b, d.pricesAt(a, n), row)
			row++
		}
	}
	for ; row < b.rows; row++ {
		d.loadRow(b, d.pricesAt(asks[0], 0), row)
	}
}

// loadRow writes one row of prices.
func (d *Decider) loadRow(b *batchBuffers, p *Prices, row int) {
	experts, levels, actions := len(d.info.Actions.Experts), len(d.info.Actions.Advice), d.info.Actions.Len()
	in := inputs{
		experts: d.input(b, ExpertFeesInput).Float32s()[row*experts:], advice: d.input(b, AdviceFeesInput).Float32s()[row*levels:],
		pairs:     d.input(b, PairFeesInput).Float32s()[row*actions : (row+1)*actions],
		available: d.input(b, AvailableInput).Bools()[row*actions:],
	}
	for _, q := range d.info.quantities() {
		in.usage[q] = d.input(b, UsagePriceInput(q)).Float32s()[row*experts:]
	}
	in.set(p)
}

// answer copies the decisions on some rows of a batch. All integers and all numbers have one piece of memory each.
func (d *Decider) answer(b *batchBuffers, first, rows int) *Decisions {
	actions := d.info.Actions.Len()
	out := &Decisions{Actions: actions, Levels: len(d.info.Actions.Advice)}
	ints := make([]int64, 0, 3*rows)
	for _, to := range []struct {
		dst  *[]int64
		name string
	}{{&out.Action, ActionOutput}, {&out.Expert, ExpertOutput}, {&out.Advice, AdviceOutput}} {
		start := len(ints)
		ints = append(ints, d.ints(b, to.name)[first:first+rows]...)
		*to.dst = slices.Clip(ints[start:])
	}
	if d.info.Guarantee != nil {
		out.Accepted = slices.Clone(d.bools(b, AcceptedOutput)[first : first+rows])
	}
	floats := func(dst *[]float32, all []float32, name string) []float32 {
		start := len(all)
		all = append(all, d.floats(b, name)[first*actions:(first+rows)*actions]...)
		*dst = slices.Clip(all[start:])
		return all
	}
	if !d.info.estimates() {
		floats(&out.Scores, make([]float32, 0, rows*actions), ScoresOutput)
		return out
	}
	all := floats(&out.Scores, make([]float32, 0, (3+len(d.info.quantities()))*rows*actions), ScoresOutput)
	all = floats(&out.Loss, all, LossOutput)
	all = floats(&out.Cost, all, CostOutput)
	for _, q := range d.info.quantities() {
		all = floats(&out.Usage[q], all, UsageOutput(q))
	}
	return out
}

// checkPrices reports prices that the policy cannot decide at.
func (d *Decider) checkPrices(p *Prices) error {
	if d.info.Prices == nil {
		if !p.Equal(d.base) {
			return errors.New("the policy has fixed prices: only an any-price policy decides at others")
		}
		return nil
	}
	if !slices.Contains(p.Available, true) {
		return errors.New("no pair may be chosen")
	}
	return d.info.CheckPrices(p)
}
