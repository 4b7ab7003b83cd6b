package fit

import (
	"math"
	"slices"

	"pipe/costs"
)

// promising are the pairs that may be executed after another, ascending: as many as the settings have states for. Pair by
// pair, the one is taken with which the cheapest of them, in hindsight, costs least on average.
func promising(t *costs.Tensor, lambda float64, s Settings) []int {
	var left, out []int
	for i, ok := range t.Actions.Mask() {
		if ok {
			left = append(left, i)
		}
	}
	most := mostPairs(len(left), s)
	if most == len(left) {
		return left
	}
	rows := t.CompleteRows(t.Rows(costs.Train))
	least := slices.Repeat([]float64{math.Inf(1)}, len(rows))
	for len(out) < most {
		best, bestCost := 0, math.Inf(1)
		for at, i := range left {
			sum := 0.0
			for n, row := range rows {
				sum += min(least[n], t.Cost(row, i, lambda))
			}
			if sum < bestCost {
				best, bestCost = at, sum
			}
		}
		i := left[best]
		for n, row := range rows {
			least[n] = min(least[n], t.Cost(row, i, lambda))
		}
		out, left = append(out, i), slices.Delete(left, best, best+1)
	}
	slices.Sort(out)
	return out
}

// mostPairs is how many of the pairs there are states for: one for every set of up to Stages of them.
func mostPairs(pairs int, s Settings) int {
	for p := pairs; p > 2; p-- {
		if countSets(p, s.Stages) <= s.States {
			return p
		}
	}
	return min(2, pairs)
}

// countSets is the number of sets of up to size of n things; more than mostStates is mostStates + 1.
func countSets(n, size int) int {
	sum, of := 1, 1
	for k := 1; k <= min(n, size); k++ {
		of = of * (n - k + 1) / k
		if sum += of; sum > mostStates {
			return mostStates + 1
		}
	}
	return sum
}

// sets are the sets of exactly size of the pairs, each ascending, in order.
func sets(pairs []int, size int) (out [][]int) {
	if size == 0 {
		return [][]int{{}}
	}
	for at := 0; at+size <= len(pairs); at++ {
		for _, rest := range sets(pairs[at+1:], size-1) {
			out = append(out, append([]int{pairs[at]}, rest...))
		}
	}
	return out
}

// with is a set with one more pair, ascending.
func with(set []int, pair int) []int {
	out := append(slices.Clone(set), pair)
	slices.Sort(out)
	return out
}
