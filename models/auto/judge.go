package auto

import (
	"math"
	"slices"

	"pipe/models/policy"
)

// price is one set of fees at which the gate and the guard compare a policy with the best fixed pair.
type price struct {
	policy.PriceGuard           // what was changed: lambda, and the fee of one expert or advice
	fees              []float64 // of every pair, without those of usage
	rates             []float64 // fees of a unit of usage, by column of usage; nil without usage
	mean              []float64 // fees of every pair with those of its mean usage
	fixed             int       // best fixed pair of all training rows
}

// newPrice completes a price.
func newPrice(t *table, of policy.PriceGuard, fees []float64, prices policy.UsagePrices) price {
	p := price{PriceGuard: of, fees: fees, fixed: -1}
	mean := fees
	if u := t.usage; u != nil {
		p.rates = prices.Rates(u.quantities, u.actions)
		mean = make([]float64, len(fees))
		for i := range mean {
			mean[i] = p.fee(i, func(c int) float64 { return u.mean[c] })
		}
	}
	p.mean = mean
	return p.among(t, t.constant)
}

// among is the price with the best fixed pair by other mean losses.
func (p price) among(t *table, losses []float64) price {
	least := float32(0)
	p.fixed = -1
	for i, loss := range losses {
		cost := float32(loss+t.careOf(i)) + float32(p.mean[i]) // in float32, as a policy file compares them
		if t.data.Mask[i] && (p.fixed < 0 || cost < least) {
			p.fixed, least = i, cost
		}
	}
	p.Fixed = t.full.Actions.Name(p.fixed)
	return p
}

// fee is that of a pair whose usage is given by column.
func (p price) fee(pair int, used func(column int) float64) float64 {
	fee := p.fees[pair]
	for c := pair; c < len(p.rates); c += len(p.fees) {
		if rate := p.rates[c]; rate != 0 {
			fee += rate * used(c)
		}
	}
	return fee
}

// paid is the fee of a pair on held-out row n.
func (p price) paid(t *table, n, pair int) float64 {
	return p.fee(pair, func(c int) float64 { return t.usage.actual(t, n, c) })
}

// expected is the estimated fee of a pair on held-out row n.
func (p price) expected(t *table, n, pair int) float64 {
	return p.fee(pair, func(c int) float64 { return float64(t.usage.held[n*len(p.rates)+c]) })
}

// constant is the cost of the fixed pair on held-out row n.
func (p price) constant(t *table, n int) float64 {
	return float64(t.outcomes(n)[p.fixed]) + p.paid(t, n, p.fixed)
}

// option is what leaving the best fixed pair means for a held-out row.
type option struct {
	pair     int32   // with the smallest estimated cost
	promised float32 // estimated cost of the fixed pair minus that of this pair
	gain     float32 // the same with the costs that came true, or with what they are taken to be
}

// options are those of every held-out row at a price, for one set of estimates.
func (p price) options(t *table, estimates []float32) []option {
	out := make([]option, len(t.held))
	pairs := t.data.Pairs
	for n := range t.held {
		e, best := estimates[n*pairs:(n+1)*pairs], p.fixed
		promised := func(i int) float64 { return float64(e[i]) + t.careOf(i) + p.expected(t, n, i) }
		least := promised(best)
		for i := range e {
			if cost := promised(i); t.data.Mask[i] && cost < least {
				best, least = i, cost
			}
		}
		out[n].pair = int32(best)
		if best == p.fixed {
			continue
		}
		y := t.outcomes(n)
		paid := p.paid(t, n, p.fixed) - p.paid(t, n, best)
		out[n] = option{
			pair:     int32(best),
			promised: float32(promised(p.fixed) - least),
			gain:     float32(float64(y[p.fixed]) - float64(y[best]) + paid),
		}
	}
	return out
}

// at is the gain of a row behind a gate: the fixed pair is left only for a promise above the margin.
func (o option) at(margin float64) float64 {
	if float64(o.promised) > margin {
		return float64(o.gain)
	}
	return 0
}

// choice is the pair that is taken behind a gate.
func (o option) choice(margin float64, fixed int) int {
	if float64(o.promised) > margin {
		return int(o.pair)
	}
	return fixed
}

// judge chooses margins and measures gains on held-out rows.
type judge struct {
	t      *table
	s      Settings
	prices []price
}

// rowsWithout are the positions of held-out rows that are in no given block; -1: all.
func (j *judge) rowsWithout(block int) []int {
	var out []int
	for b, span := range j.t.blocks {
		for n := span.from; n < span.to && b != block; n++ {
			out = append(out, n)
		}
	}
	return out
}

// options are those of every price, by price and held-out row.
func (j *judge) options(estimates []float32) [][]option {
	out := make([][]option, len(j.prices))
	for i, p := range j.prices {
		out[i] = p.options(j.t, estimates)
	}
	return out
}

// margins are the margins that the gate may have, in the unit of the losses.
func (j *judge) margins() []float64 {
	out := make([]float64, len(j.s.Margins))
	for i, m := range j.s.Margins {
		out[i] = m * (j.t.high - j.t.low)
	}
	return out
}

// margin is the largest one whose mean gain over the prices is at most half a standard error below that of the best. A
// margin with which the policy is certainly worse than the fixed pair of some price counts only if every margin is so.
func (j *judge) margin(options [][]option, rows []int) (float64, error) {
	if j.t.logged != nil {
		return j.surest(options, rows)
	}
	margins := j.margins()
	gains := make([][]float64, len(margins)) // by margin and row, mean over prices
	best, most := -1, math.Inf(-1)
	var safe []bool
	for m, margin := range margins {
		gains[m] = j.mean(options, rows, func(o []option, n int) float64 { return o[n].at(margin) })
		ok, err := j.safe(options, rows, margin)
		if err != nil {
			return 0, err
		}
		safe = append(safe, ok)
		if mean := j.t.mean(gains[m], rows); ok && mean > most {
			best, most = m, mean
		}
	}
	if best < 0 {
		return margins[len(margins)-1], nil
	}
	chosen := margins[best]
	for m := best + 1; m < len(margins); m++ {
		behind := make([]float64, len(rows))
		for i := range behind {
			behind[i] = gains[best][i] - gains[m][i]
		}
		low, high, err := j.t.interval(behind, rows, oneError)
		if err != nil {
			return 0, err
		}
		if safe[m] && low+high <= (high-low)/2 { // mean <= error / 2
			chosen = margins[m]
		}
	}
	return chosen, nil
}

// logMargins are further margins for a log, as shares of the range of losses: what leaves the best fixed pair on fewer rows, for more, is
// surer.
var logMargins = []float64{0.02, 0.05, 0.1, 0.2}

// surest is the margin with the largest lower bound, by which the guard decides on a log.
func (j *judge) surest(options [][]option, rows []int) (margin float64, err error) {
	most := math.Inf(-1)
	for _, m := range slices.Concat(j.s.Margins, logMargins) {
		m *= j.t.high - j.t.low
		gains, doubts, _ := j.compared(options, slices.Repeat([]float64{m}, len(j.t.held)))
		own, left := make([]float64, len(rows)), make([]doubt, len(rows))
		for i, n := range rows {
			own[i], left[i] = gains[n], doubts[n]
		}
		low, _, err := j.t.bounds(own, left, rows, j.s.Confidence)
		if err != nil {
			return 0, err
		}
		if low > most {
			margin, most = m, low
		}
	}
	return margin, nil
}

// choice is a rule of blends and the margin of its gate.
type choice struct {
	rule   int
	margin float64
}

// choose returns the first rule, or another one that is better by more than a standard error. options are by rule.
func (j *judge) choose(options [][][]option, rows []int) (choice, error) {
	var best choice
	var gains []float64
	for r, own := range options {
		margin, err := j.margin(own, rows)
		if err != nil {
			return best, err
		}
		g := j.mean(own, rows, func(o []option, n int) float64 { return o[n].at(margin) })
		if r == 0 {
			best, gains = choice{0, margin}, g
			continue
		}
		ahead := make([]float64, len(rows))
		for i := range ahead {
			ahead[i] = g[i] - gains[i]
		}
		low, _, err := j.t.interval(ahead, rows, oneError)
		if err != nil {
			return best, err
		}
		if low > 0 {
			best, gains = choice{r, margin}, g
		}
	}
	return best, nil
}

// oneError is the one-sided confidence of a bound at one standard error.
const oneError = 0.8413

// safe reports whether the policy is at no price certainly worse than the fixed pair. A single price is left to the
// guard.
func (j *judge) safe(options [][]option, rows []int, margin float64) (bool, error) {
	if len(options) == 1 {
		return true, nil
	}
	for _, o := range options {
		gains := make([]float64, len(rows))
		sum := 0.0
		for i, n := range rows {
			gains[i] = o[n].at(margin)
			sum += j.t.weight(n) * gains[i]
		}
		if sum >= 0 {
			continue
		}
		_, high, err := j.t.interval(gains, rows, policy.PriceConfidence)
		if err != nil || high < 0 {
			return false, err
		}
	}
	return true, nil
}

// mean is a value per row: the mean over the prices.
func (j *judge) mean(options [][]option, rows []int, value func(o []option, n int) float64) []float64 {
	out := make([]float64, len(rows))
	for _, o := range options {
		for i, n := range rows {
			out[i] += value(o, n) / float64(len(options))
		}
	}
	return out
}

// nested are the options of every price and the margin of every held-out row, each row decided by the rule, weights and
// margin that the other blocks choose.
func (j *judge) nested(m *members) (options [][]option, margin []float64, err error) {
	options = make([][]option, len(j.prices))
	for i := range options {
		options[i] = make([]option, len(j.t.held))
	}
	margin = make([]float64, len(j.t.held))
	all, each := m.moments(j.t)
	for b, span := range j.t.blocks {
		others := all.plus(each[b], -1)
		own, by := make([][][]option, len(rules)), j.without(b)
		for r, rule := range rules {
			own[r] = by.options(blended(m.estimates, rule.weights(m.kinds, others)))
		}
		chosen, err := by.choose(own, j.rowsWithout(b))
		if err != nil {
			return nil, nil, err
		}
		for i, o := range own[chosen.rule] {
			for n := span.from; n < span.to; n++ {
				options[i][n], margin[n] = j.prices[i].seen(j.t, n, o[n], by.prices[i], chosen.margin), chosen.margin
			}
		}
	}
	return options, margin, nil
}

// without is the judge with the best fixed pairs that the other blocks choose. Rows that are complete choose them together, as what is
// compared with; of a log, the best one of few rows is part of what is learned.
func (j *judge) without(block int) *judge {
	if j.t.logged == nil {
		return j
	}
	other := *j
	other.prices = nil
	mean := j.t.meansOfJudged(j.rowsWithout(block))
	for _, p := range j.prices {
		other.prices = append(other.prices, p.among(j.t, mean))
	}
	return &other
}

// seen is an option of another best fixed pair as one of p's: what is chosen and what it costs stay.
func (p price) seen(t *table, n int, o option, of price, margin float64) option {
	if p.fixed == of.fixed {
		return o
	}
	pair := o.choice(margin, of.fixed)
	gain := p.constant(t, n) - of.constant(t, n) + o.at(margin)
	return option{pair: int32(pair), promised: float32(math.Inf(1)), gain: float32(gain)}
}

// final are the options of every price and the margin of the policy that would be exported, but for members that saw the rows.
func (j *judge) final(m *members) (options [][]option, margin []float64, err error) {
	all, _ := m.moments(j.t)
	own := make([][][]option, len(rules))
	for r, rule := range rules {
		own[r] = j.options(blended(m.estimates, rule.weights(m.kinds, all)))
	}
	chosen, err := j.choose(own, j.rowsWithout(-1))
	if err != nil {
		return nil, nil, err
	}
	return own[chosen.rule], slices.Repeat([]float64{chosen.margin}, len(j.t.held)), nil
}

// guard compares decisions, such as the nested ones, with the best fixed pair of every price, or with the deployed policy.
func (j *judge) guard(options [][]option, margin []float64) (guarded, error) {
	rows := j.rowsWithout(-1)
	var g guarded
	g.Guard = policy.Guard{Confidence: j.s.Confidence, Rule: j.s.Rule, Rows: len(rows), Clusters: len(rows)}
	if j.t.sets != nil {
		g.Clusters = j.t.clusters.Pick(j.t.held).Len()
	}
	g.Fixed = j.prices[0].Fixed
	if g.byLog(j, options[0], margin); j.s.Deployed != nil {
		g.Deployed = j.s.Deployed.Name
	}
	for i, p := range j.prices {
		at := p.PriceGuard
		gains, doubts, baseline, _ := j.gains(p, options[i], margin)
		at.FixedLoss, at.Gain = j.t.mean(baseline, rows), j.t.mean(gains, rows)
		at.Learned = at.FixedLoss - at.Gain
		var err error
		if at.LowerBound, at.UpperBound, err = j.t.bounds(gains, doubts, rows, policy.PriceConfidence); err != nil {
			return g, err
		}
		g.FixedLoss += at.FixedLoss / float64(len(j.prices))
		g.Prices = append(g.Prices, at)
	}
	mean, spread, unsupported := j.compared(options, margin)
	if g.Gain = j.t.mean(mean, rows); g.Log != nil {
		g.Log.Unsupported = unsupported
	}
	g.Learned = g.FixedLoss - g.Gain
	var err error
	if g.LowerBound, _, err = j.t.bounds(mean, spread, rows, j.s.Confidence); err != nil {
		return g, err
	}
	low, _, err := j.t.bounds(mean, spread, rows, oneError)
	if err != nil {
		return g, err
	}
	g.failure = g.Gain - low
	if len(j.prices) == 1 {
		g.Prices = nil
	}
	return g, nil
}

// compared are the gains of decisions by held-out row, means over the prices, with what the log leaves open of each.
func (j *judge) compared(options [][]option, margin []float64) (mean []float64, left []doubt, unsupported int) {
	count := float64(len(j.prices))
	mean, left = make([]float64, len(margin)), make([]doubt, len(margin))
	for i, p := range j.prices {
		gains, doubts, _, without := j.gains(p, options[i], margin)
		unsupported = max(unsupported, without)
		for n := range margin {
			mean[n] += gains[n] / count
			// At most: a mean of dependent values varies no more than they do on average.
			left[n].variance, left[n].largest = left[n].variance+doubts[n].variance/count, left[n].largest+doubts[n].largest/count
		}
	}
	return mean, left, unsupported
}

// gains are those of decisions at a price over what they are compared with, by held-out row, with what the log leaves open of each and
// with the cost of what they are compared with. On unsupported rows the log could not execute the pair, so no gain is shown.
func (j *judge) gains(p price, options []option, margin []float64) (gains []float64, doubts []doubt, baseline []float64, unsupported int) {
	count := len(j.t.held)
	gains, doubts, baseline = make([]float64, count), make([]doubt, count), make([]float64, count)
	for n, o := range options {
		baseline[n], gains[n] = p.constant(j.t, n), o.at(margin[n])
		against := p.fixed
		if d := j.s.Deployed; d != nil {
			against = d.Actions[j.t.place[j.t.held[n]]]
			own := j.t.outcomeOf(n, against) + p.fees[against]
			gains[n] += own - baseline[n]
			baseline[n] = own
		}
		if j.t.logged == nil {
			continue
		}
		pair := o.choice(margin[n], p.fixed)
		if doubts[n] = j.t.doubt(n, pair, against); pair != against && !j.t.supports(n, pair) {
			gains[n] = min(0, gains[n])
			unsupported++
		}
	}
	return gains, doubts, baseline, unsupported
}

// loss is the mean cost of decisions over the held-out rows and the prices, and its standard error.
func (j *judge) loss(options [][]option, margin float64) (loss, failure float64, err error) {
	rows := j.rowsWithout(-1)
	each := make([]float64, len(rows))
	for i, p := range j.prices {
		for _, n := range rows {
			each[n] += (p.constant(j.t, n) - options[i][n].at(margin)) / float64(len(j.prices))
		}
	}
	loss = j.t.mean(each, rows)
	low, _, err := j.t.interval(each, rows, oneError)
	return loss, loss - low, err
}
