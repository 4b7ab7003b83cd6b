package decision

import (
	"math"
	"slices"
	"sync"

	"pipe/models/policy"
)

// fixedPair finds the pair that would be best for all rows of the traffic together, to which savings are compared: the one
// with the smallest mean expected loss plus fee.
type fixedPair struct {
	mu    sync.Mutex
	loss  []float64 // sum of expected losses of every pair
	rows  int64
	known int // best fixed pair of the training, until there are enough rows; -1: not known
}

// settledRows is the number of rows from which on the mean over the traffic names the best fixed pair.
const settledRows = 100

// add adds the expected losses of rows, n x pairs. Those of pairs that do not exist are no losses.
func (f *fixedPair) add(loss []float32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, v := range loss {
		if v < -policy.ExcludedBelow {
			f.loss[i%len(f.loss)] += float64(v)
		}
	}
	f.rows += int64(len(loss) / len(f.loss))
}

// best is the best fixed pair at prices; -1: not known.
func (f *fixedPair) best(p *priced) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	best, least := -1, math.Inf(1)
	if f.rows < settledRows {
		if f.known >= 0 && p.Available[f.known] {
			best = f.known
		}
		return best
	}
	for i, ok := range p.Available {
		if c := f.loss[i]/float64(f.rows) + p.fees[i]; ok && c < least {
			best, least = i, c
		}
	}
	return best
}

// named is the best fixed pair, which may not be available; -1: not known.
func (f *fixedPair) named(p *priced) int {
	if best := f.best(p); best >= 0 {
		return best
	}
	return f.known
}

// costs are the mean expected loss of every pair over the traffic, 0 without any, plus its fee.
func (f *fixedPair) costs(p *priced) []float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]float64, len(f.loss))
	for i := range all {
		all[i] = f.loss[i]/float64(max(1, f.rows)) + p.fees[i]
	}
	return all
}

// NamesPair reports whether a policy has the pair that a request names by [Request.Unseen], before any traffic.
func NamesPair(info *policy.Info, unseen string) bool {
	if unseen == BestFixed {
		return fixedOf(info) >= 0
	}
	return unseen == "" || slices.Contains(info.Actions.Names(), unseen)
}

// fixedOf is the best fixed pair of a policy's training; -1: the file does not name it.
func fixedOf(info *policy.Info) int {
	if info.Fixed < 0 && info.Guard != nil {
		return slices.Index(info.Actions.Names(), info.Guard.Fixed)
	}
	return info.Fixed
}
