package drift

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// UpperBound returns an upper confidence bound of the mean of values in [0, 1] that come in independent sets: sums are the
// sums of the sets, sizes their numbers of values. Values of one set may depend on each other in any way. Given the sizes,
// the mean that the values were drawn from is above the bound with a probability of at most alpha, for any number of sets
// and any distribution; sets need not be alike.
//
// It is the smallest mean m against which bets that the values are lower win 1/alpha (the fixed-size form of the betting
// intervals of Waudby-Smith and Ramdas 2024). A bet of stake s multiplies its money by 1 + s*(m*size - sum) for every set.
// If the mean is at least m, the product is expected to be at most exp(s * (m*values - expected sum)), which is at most 1.
// Money is spread over four stakes, the best ones for standard deviations of 1/2 to 1/16. With no values the bound is 1. A
// sum outside of 0 to its size is an error.
func UpperBound(sums []float64, sizes []int, alpha float64) (float64, error) {
	if !(alpha > 0 && alpha < 1) || len(sums) != len(sizes) {
		return 0, fmt.Errorf("upper bound: alpha %v, %d sums and %d sizes", alpha, len(sums), len(sizes))
	}
	squares, seen := 0.0, map[valueSet]float64{}
	for i, s := range sums {
		n := float64(sizes[i])
		if sizes[i] < 1 || !(s >= 0 && s <= n*(1+1e-9)) {
			return 0, fmt.Errorf("upper bound: the sum %v of set %d is outside 0 to %v", s, i, n)
		}
		squares += n * n
		seen[valueSet{s, n}]++
	}
	if len(sums) == 0 {
		return 1, nil
	}
	sets := slices.SortedFunc(maps.Keys(seen), func(a, b valueSet) int { return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.size, b.size)) })
	counts := make([]float64, len(sets))
	for i, s := range sets {
		counts[i] = seen[s]
	}
	stake, most := math.Sqrt(2*-math.Log(alpha)/squares), float64(slices.Max(sizes))
	low, high := 0.0, 1.0 // the wealth grows with the mean that is bet against
	for range 50 {
		if m := (low + high) / 2; logWin(sets, counts, m, stake, mostBet/((1-m)*most)) >= -math.Log(alpha) {
			high = m
		} else {
			low = m
		}
	}
	return high, nil
}

// valueSet is the sum of a set and its number of values. Equal ones are computed once: losses are often 0 or 1.
type valueSet struct{ sum, size float64 }

// logWin is the natural logarithm of the wealth of bets that values are below a mean m < 1, with stakes of 2, 4, 8 and 16
// times the given one, and at most most.
func logWin(sets []valueSet, counts []float64, m, stake, most float64) float64 {
	logs := make([]float64, 4)
	for k := range logs {
		stake *= 2
		at := min(stake, most)
		for i, s := range sets {
			logs[k] += counts[i] * math.Log1p(at*(m*s.size-s.sum))
		}
	}
	largest, wealth := slices.Max(logs), 0.0
	for k, share := range []float64{1. / 2, 1. / 4, 1. / 8, 1. / 8} { // less for the stakes whose bounds are narrow anyway
		wealth += share * math.Exp(logs[k]-largest)
	}
	return largest + math.Log(wealth)
}
