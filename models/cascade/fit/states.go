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
	fees := t.Actions.Fees(lambda)
	for len(out) < most {
		best, bestCost := 0, math.Inf(1)
		for at, i := range left {
			sum := 0.0
			for n, row := range rows {
				sum += min(least[n], costOf(t, row, i, fees[i]))
			}
			if sum < bestCost {
				best, bestCost = at, sum
			}
		}
		i := left[best]
		for n, row := range rows {
			least[n] = min(least[n], costOf(t, row, i, fees[i]))
		}
		out, left = append(out, i), slices.Delete(left, best, best+1)
	}
	slices.Sort(out)
	return out
}

// costOf is what one pair costs on a row.
func costOf(t *costs.Tensor, row, pair int, fee float64) float64 {
	return float64(t.Losses(row)[pair]) + fee + feeOf(t, row, pair)
}

// feeOf is the measured fee of a pair on a row.
func feeOf(t *costs.Tensor, row, pair int) float64 {
	if t.Fee == nil {
		return 0
	}
	return float64(t.Fee[row*t.Actions.Len()+pair])
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
