package decision

import (
	"math"
	"slices"
	"sync"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// fixedPair finds the best fixed pairs of the traffic: the one with the smallest mean expected loss plus fee at given
// prices, and the one against which the savings of decisions are computed.
type fixedPair struct {
	mu       sync.Mutex
	loss     []float64                   // sum of expected losses of every pair
	used     [costs.Quantities][]float64 // sum of what every pair is expected to use, NaN where it is not known; nil: not known
	mean     costs.Usage                 // of the training
	rows     int64
	training int // best fixed pair of the training, used until there are enough rows; -1: not known

	// Of the decisions for which the pair was available, at their prices.
	extra  []float64 // per pair: sum of its expected cost minus that of the chosen pair
	counts []int64   // per pair: number of these decisions
}

func newFixedPair(info *policy.Info) *fixedPair {
	pairs := info.Actions.Len()
	f := &fixedPair{loss: make([]float64, pairs), training: trainingFixedPair(info), extra: make([]float64, pairs), counts: make([]int64, pairs)}
	if info.Usage != nil {
		f.mean = info.Usage.Mean
		for _, q := range info.Usage.Quantities {
			f.used[q] = make([]float64, pairs)
		}
	}
	return f
}

// minRows is the number of rows from which the traffic, in place of the training, determines the best fixed pair.
const minRows = 100

// add adds the expected losses and usage of rows, n x pairs. Losses of pairs that do not exist are ignored.
func (f *fixedPair) add(loss []float32, used *costs.Usage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for q, sums := range f.used {
		for i, v := range used[q] {
			sums[i%len(sums)] += float64(v)
		}
	}
	for i, v := range loss {
		if v < -policy.ExcludedBelow {
			f.loss[i%len(f.loss)] += float64(v)
		}
	}
	f.rows += int64(len(loss) / len(f.loss))
}

// best returns the best available fixed pair at the given prices; -1: not known.
func (f *fixedPair) best(p *policy.Prices) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	best, least := -1, math.Inf(1)
	if f.rows < minRows {
		if f.training >= 0 && p.Available[f.training] {
			best = f.training
		}
		return best
	}
	used := f.usage()
	for i, ok := range p.Available {
		if c := f.loss[i]/float64(f.rows) + p.FeeOf(i, &used, i); ok && c < least {
			best, least = i, c
		}
	}
	return best
}

// usage is what every pair uses on average over the traffic, or the training before there is any.
func (f *fixedPair) usage() (mean costs.Usage) {
	if f.rows == 0 {
		return f.mean
	}
	for q, sums := range f.used {
		for _, v := range sums {
			mean[q] = append(mean[q], float32(v/float64(f.rows)))
		}
	}
	return mean
}

// compare counts decisions, and returns the pair against which their expected costs are compared. It is the pair with the
// smallest mean extra cost over the chosen pairs, among the pairs that were available for at least half of the decisions.
// For the first rows it is that of the training. -1: not known.
func (f *fixedPair) compare(records []*decisionlog.Record) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range records {
		f.count(r)
	}
	most := slices.Max(f.counts)
	if most < minRows {
		return f.training
	}
	best, least := -1, math.Inf(1)
	for i, n := range f.counts {
		if n > 0 && 2*n >= most && f.extra[i]/float64(n) < least {
			best, least = i, f.extra[i]/float64(n)
		}
	}
	return best
}

func (f *fixedPair) count(r *decisionlog.Record) {
	if r.ExpectedCost == nil {
		return
	}
	for i, ok := range r.Available {
		beyond := float64(r.ExpectedCost[i]) - float64(r.ExpectedCost[r.Action])
		if ok && math.Abs(beyond) < -policy.ExcludedBelow {
			f.extra[i] += beyond
			f.counts[i]++
		}
	}
}

// bestOrTraining returns the best fixed pair, which may not be available; -1: not known.
func (f *fixedPair) bestOrTraining(p *policy.Prices) int {
	if best := f.best(p); best >= 0 {
		return best
	}
	return f.training
}

// costs returns the mean expected loss of every pair over the traffic, 0 without traffic, plus its mean fee. NaN: what
// the pair uses has a price and is not known.
func (f *fixedPair) costs(p *policy.Prices) []float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, used := make([]float64, len(f.loss)), f.usage()
	for i := range all {
		all[i] = f.loss[i]/float64(max(1, f.rows)) + p.FeeOf(i, &used, i)
	}
	return all
}

// NamesPair reports whether a policy has the pair that [Request.FixedPair] selects, before any traffic.
func NamesPair(info *policy.Info, pair string) bool {
	if pair == BestFixed {
		return trainingFixedPair(info) >= 0
	}
	return pair == "" || slices.Contains(info.Actions.Names(), pair)
}

// trainingFixedPair returns the best fixed pair of a policy's training; -1 if the file does not name it.
func trainingFixedPair(info *policy.Info) int {
	if info.Fixed < 0 && info.Guard != nil {
		return slices.Index(info.Actions.Names(), info.Guard.Fixed)
	}
	return info.Fixed
}
