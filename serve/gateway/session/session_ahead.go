package session

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// ahead is the decision problem of the turns after the present one; see the package's comment.
type ahead struct {
	gamma  float64     // probability of another turn
	caches int         // that are followed; a set of them is a number with a bit for each
	bit    []int       // by expert: of its cache; 0: not followed
	warm   []float64   // by expert: price of the next prompt with hits
	cold   []float64   // by expert: price of the next prompt without
	rows   [][]float64 // samples of what the best pair of each expert costs beside its prompt
	living []survivors // of a pause
	mean   []float64   // of rows, by expert
	loop   float64     // probability that the next turn sends results of tool calls, which the same expert answers
}

// survivors are the caches that live through a pause, and the probability of such a pause.
type survivors struct {
	share float64
	set   int
}

// maxCaches bounds the caches that are followed: their sets are 2 to this power.
const maxCaches = 4

// sweeps bounds the passes over all sets.
const sweeps = 24

// values returns the expected cost of a turn that is free to choose and of all turns after it, by the set of caches that have the
// conversation when the turn before is over. Only differences mean anything.
func (a *ahead) values() []float64 {
	v := make([]float64, 1<<a.caches)
	if len(a.rows) == 0 {
		a.guess(v)
		return v
	}
	w, base, scale := make([]float64, len(v)), make([]float64, len(a.bit)), 0.0
	for e := range a.cold {
		scale = max(scale, a.cold[e]-a.warm[e])
	}
	for range sweeps {
		for set := range w {
			w[set] = a.best(set, v, base)
		}
		shift, moved := 0.0, 0.0 // a shift of all values changes nothing
		for set := len(v) - 1; set >= 0; set-- {
			next := a.pause(set, w)
			if set == len(v)-1 {
				shift = next - v[set]
			}
			moved = max(moved, math.Abs(next-v[set]-shift))
			v[set] = next
		}
		if moved <= scale/500 {
			break
		}
	}
	return v
}

// later is the expected cost of all turns after one that an expert answers, by the caches that have the conversation then: turns of
// a tool loop, which the same expert answers with hits, and then a turn that is free to choose.
func (a *ahead) later(e, set int, v []float64) float64 {
	held := a.warm[e]
	if len(a.rows) > 0 {
		held += a.mean[e]
	}
	return a.gamma * ((1-a.loop)*v[set] + a.loop*held) / (1 - a.gamma*a.loop)
}

// best is the expected cost of a turn that finds a set of caches, and of those after it.
func (a *ahead) best(set int, v, base []float64) float64 {
	for e, bit := range a.bit {
		base[e] = a.cold[e] + a.later(e, set|bit, v)
		if set&bit != 0 {
			base[e] += a.warm[e] - a.cold[e]
		}
	}
	sum := 0.0
	for _, row := range a.rows {
		least := math.Inf(1)
		for e, b := range base {
			least = min(least, row[e]+b)
		}
		sum += least
	}
	return sum / float64(len(a.rows))
}

// pause is the mean over the pauses of callers.
func (a *ahead) pause(set int, w []float64) float64 {
	sum := 0.0
	for _, s := range a.living {
		sum += s.share * w[set&s.set]
	}
	return sum
}

// guess takes the cache that saves most, of those that live through the pause, to be used in the next free turn.
func (a *ahead) guess(v []float64) {
	for _, s := range a.living {
		for set := range v {
			saved := 0.0
			for e, bit := range a.bit {
				if set&s.set&bit != 0 {
					saved = max(saved, a.cold[e]-a.warm[e])
				}
			}
			v[set] -= s.share * saved
		}
	}
}

// follow chooses the caches that are followed: the ones that are warm, then those whose experts cost least.
func follow(all []state, mean []float64) (bit []int, caches int) {
	order := make([]int, len(all))
	for e := range order {
		order[e] = e
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(all[j].found, all[i].found), cmp.Compare(mean[i], mean[j]))
	})
	bit = make([]int, len(all))
	seen := map[uint64]int{}
	for _, e := range order {
		if all[e].absent {
			continue
		}
		b, ok := seen[all[e].cache]
		if !ok && len(seen) < maxCaches {
			b = 1 << len(seen)
			seen[all[e].cache] = b
		}
		bit[e] = b
	}
	return bit, len(seen)
}

// means are the means of rows.
func means(rows [][]float64, n int) []float64 {
	mean := make([]float64, n)
	for _, row := range rows {
		for e := range mean {
			mean[e] += row[e] / float64(len(rows))
		}
	}
	return mean
}

// living returns the caches that survive pauses, by the times to live of their experts. within is the share of pauses up to
// a time.
func living(bit []int, all []state, within func(time.Duration) float64) []survivors {
	var ttls []time.Duration
	for e := range all {
		if !all[e].absent {
			ttls = append(ttls, all[e].price.TTL)
		}
	}
	slices.Sort(ttls)
	ttls = slices.Compact(ttls)
	out, before := make([]survivors, 0, len(ttls)+1), 0.0
	for _, ttl := range ttls {
		set := 0
		for e := range all {
			if all[e].price.TTL >= ttl {
				set |= bit[e]
			}
		}
		share := within(ttl)
		out = append(out, survivors{share - before, set})
		before = share
	}
	return append(out, survivors{1 - before, 0})
}
