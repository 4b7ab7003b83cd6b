package auto

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/policy"
)

// logged is what a log knows of a row: the loss of the pair that it executed, and with which probability it did so.
type logged struct {
	pair    int
	loss    float32   // with its measured fee
	weight  float64   // 1/probability, at most Settings.Clip
	clipped bool      // the weight is the bound
	chances []float64 // probabilities of all pairs; NaN where it is not known
}

// loggedRows are the rows of a tensor on which one pair was executed with known probabilities, by position in rows; nil for others. The
// result is nil if there is none.
func loggedRows(t *costs.Tensor, rows []int, clip float64) []*logged {
	if t.Propensity == nil {
		return nil
	}
	var out []*logged
	exists := t.Actions.Mask()
	for at, n := range rows {
		pair := t.Observed(n)
		if pair < 0 || len(t.CompleteRows([]int{n})) > 0 || !(t.Propensities(n)[pair] > 0) {
			continue
		}
		if out == nil {
			out = make([]*logged, len(rows))
		}
		l := &logged{pair: pair, loss: t.Losses(n)[pair], chances: completed(t.Propensities(n), exists)}
		l.weight, l.clipped = inverse(l.chances[pair], clip)
		if t.Fee != nil {
			l.loss += t.Fee[n*t.Actions.Len()+pair]
		}
		out[at] = l
	}
	return out
}

// completed fills in probabilities that follow from the known ones, since all sum to 1: of the only pair whose probability is not known,
// and of all such pairs if nothing is left for them. Pairs that do not exist have none.
func completed(known []float64, exists []bool) []float64 {
	out := slices.Clone(known)
	var unknown []int
	left := 1.0
	for i, p := range known {
		switch {
		case p == p:
			left -= p
		case exists[i]:
			unknown = append(unknown, i)
		default:
			out[i] = 0
		}
	}
	for _, i := range unknown {
		switch {
		case left < costs.PropensitySlack:
			out[i] = 0
		case len(unknown) == 1:
			out[i] = left
		}
	}
	return out
}

// inverse is 1/probability, at most clip.
func inverse(chance, clip float64) (weight float64, clipped bool) {
	return min(1/chance, clip), 1/chance > clip
}

// counts are how much the outcomes of logged rows count in members; nil: all alike.
func (t *table) counts(s Settings) []float64 {
	if s.Weights != WeightsIPS || t.logged == nil {
		return nil
	}
	out := make([]float64, len(t.logged))
	for row, l := range t.logged {
		if out[row] = 1; l != nil {
			out[row] = l.weight
		}
	}
	return out
}

// judgingRows are the positions in rows of those that can judge: every outcome is known, or the row is logged.
func judgingRows(t *costs.Tensor, rows []int, of []*logged) (judging []int, complete int) {
	for at, n := range rows {
		switch {
		case len(t.CompleteRows([]int{n})) > 0:
			complete++
			judging = append(judging, at)
		case of != nil && of[at] != nil:
			judging = append(judging, at)
		}
	}
	return judging, complete
}

// estimated sets what the losses of held-out rows are taken to be. On a complete row they are known. On a logged one they are the
// doubly robust estimates q + w 1{executed} (c - q), of estimates q by what did not see the row, so their mean is right where the
// probabilities are, whatever q is, up to what clipping the weights w cuts off. Differences of these for two policies are
// (w0 - we)(c - q) + q(0) - q(e).
func (t *table) estimated(q []float32) {
	if t.logged == nil {
		return
	}
	pairs := t.data.Pairs
	t.judged = slices.Clone(q)
	squares, n := 0.0, 0
	for at, row := range t.held {
		own := t.judged[at*pairs : (at+1)*pairs]
		switch l := t.logged[row]; {
		case l == nil:
			copy(own, t.data.Losses(row))
		case t.data.Mask[l.pair]:
			off := float64(l.loss - own[l.pair])
			own[l.pair] += float32(l.weight * off)
			squares, n = squares+off*off, n+1
		}
	}
	t.noise = squares / float64(max(1, n))
}

// meansOfJudged are the weighted means of the losses that some held-out rows are taken to have.
func (t *table) meansOfJudged(rows []int) []float64 {
	mean, total := make([]float64, t.data.Pairs), 0.0
	for _, n := range rows {
		w := t.weight(n)
		total += w
		for i, v := range t.outcomes(n) {
			mean[i] += w * float64(v)
		}
	}
	for i := range mean {
		mean[i] /= total
	}
	return mean
}

// careful are standard errors of the mean loss of every pair over the rows on which it is known, as far as estimates do not tell it.
func (t *table) careful(errors float64) []float64 {
	out := make([]float64, t.data.Pairs)
	for i := range out {
		known := 0
		for row := range t.rows {
			if t.data.Known == nil || t.data.Known[row*t.data.Pairs+i] {
				known++
			}
		}
		out[i] = errors * math.Sqrt(t.noise/float64(max(1, known)))
	}
	return out
}

// careOf is the caution of a pair.
func (t *table) careOf(pair int) float64 {
	if t.caution == nil {
		return 0
	}
	return t.caution[pair]
}

// cautions are those of a policy: pairs that may not be chosen have +Inf. They are nil if there is none.
func (t *table) cautions() []float64 {
	out := slices.Clone(t.caution)
	for i, untried := range t.support.untried(t.source.Actions) {
		if out == nil {
			out = make([]float64, t.data.Pairs)
		}
		if untried {
			out[i] = math.Inf(1)
		}
	}
	return out
}

// everyHeld has the positions of all held-out rows.
func (t *table) everyHeld() []int {
	rows := make([]int, len(t.held))
	for n := range rows {
		rows[n] = n
	}
	return rows
}

// outcomes are the losses of held-out row n: known, or estimated.
func (t *table) outcomes(n int) []float32 {
	if t.judged != nil {
		return t.judged[n*t.data.Pairs : (n+1)*t.data.Pairs]
	}
	return t.data.Losses(t.held[n])
}

// outcomeOf is the loss of a pair of the whole tensor on held-out row n. Of a pair that nothing is learned of, because the log hardly
// executed it, the estimate q is the smallest loss of all: it is never made worse than it may be.
func (t *table) outcomeOf(n, pair int) float64 {
	row := t.held[n]
	if t.data.Mask[pair] {
		return float64(t.outcomes(n)[pair])
	}
	l := t.logged[row]
	switch {
	case l == nil:
		at := t.rows[row]*t.source.Actions.Len() + pair
		loss := float64(t.source.Loss[at])
		if t.source.Fee != nil {
			loss += float64(t.source.Fee[at])
		}
		return loss
	case l.pair == pair:
		return t.low + l.weight*(float64(l.loss)-t.low)
	}
	return t.low
}

// knows reports whether the loss of a pair on held-out row n is known.
func (t *table) knows(n, pair int) bool {
	return t.data.Known == nil || t.data.Known[t.held[n]*t.data.Pairs+pair]
}

// wholly reports whether all losses of held-out row n are known.
func (t *table) wholly(n int) bool { return t.logged == nil || t.logged[t.held[n]] == nil }

// supports reports whether held-out row n can show what a pair costs: it is complete, or the log could execute the pair. Where it is not
// known whether the log could, it is taken as not.
func (t *table) supports(n, pair int) bool {
	l := t.logged[t.held[n]]
	return l == nil || l.chances[pair] > 0
}

// doubt is what a log leaves open of the difference between two pairs on a row.
type doubt struct {
	variance float64 // as the probabilities make it: what few rows with large weights show is often less
	largest  float64 // what the row may add if the pair is executed: its weight times the range of losses
}

// doubt is that of taking a pair against another one on held-out row n: the largest that it can be where a probability is not known.
func (t *table) doubt(n, pair, against int) (d doubt) {
	l := t.logged[t.held[n]]
	if l == nil || pair == against {
		return d
	}
	for _, i := range []int{pair, against} {
		switch p := l.chances[i]; {
		case p > 0:
			w, _ := inverse(p, t.clip)
			d.variance += p * w * w * t.noise
		case p != p:
			d.variance += t.clip * t.noise
		}
	}
	w := t.clip
	if p := l.chances[pair]; p > 0 {
		w, _ = inverse(p, t.clip)
	}
	d.largest = w * (t.high - t.low)
	return d
}

// evidence is what the logged rows say of decisions, by held-out row.
func (t *table) evidence(decisions []int) *policy.GuardLog {
	if t.logged == nil {
		return nil
	}
	var g policy.GuardLog
	sum, squares := 0.0, 0.0
	for n, pair := range decisions {
		l := t.logged[t.held[n]]
		if l == nil {
			continue
		}
		g.Rows++
		if l.clipped {
			g.Clipped++
		}
		if l.pair == pair {
			g.Same++
			g.LargestWeight = max(g.LargestWeight, l.weight)
			sum, squares = sum+l.weight, squares+l.weight*l.weight
		}
	}
	g.Complete = len(decisions) - g.Rows
	if squares > 0 {
		g.Effective = math.Round(10*sum*sum/squares) / 10
	}
	return &g
}
