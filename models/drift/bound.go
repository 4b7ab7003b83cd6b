package drift

import (
	"fmt"
	"math"
	"slices"
)

// UpperBound returns an upper confidence bound of the mean of independent values in [0, 1]: the mean that they were drawn
// from is above it with a probability of at most alpha, for any number of values and any distribution.
//
// It is the smallest mean against which a bet that the values are lower wins 1/alpha (the fixed-size form of the betting
// intervals of Waudby-Smith and Ramdas 2024). Money is spread over four stakes, the best ones for standard deviations of
// 1/2 to 1/16. The order of the values does not matter. With no values it is 1. A value outside [0, 1] is an error.
func UpperBound(values []float64, alpha float64) (float64, error) {
	if !(alpha > 0 && alpha < 1) {
		return 0, fmt.Errorf("upper bound: alpha %v is outside (0, 1)", alpha)
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	if n := len(sorted); n > 0 && !(sorted[0] >= 0 && sorted[n-1] <= 1) {
		return 0, fmt.Errorf("upper bound: values from %v to %v are not all in [0, 1]", sorted[0], sorted[n-1])
	}
	if len(sorted) == 0 {
		return 1, nil
	}
	low, high := 0.0, 1.0 // the wealth grows with the mean that is bet against
	for range 50 {
		if m := (low + high) / 2; logWin(sorted, m, alpha) >= -math.Log(alpha) {
			high = m
		} else {
			low = m
		}
	}
	return high, nil
}

// logWin is the natural logarithm of the wealth of bets that sorted values are below a mean m < 1.
func logWin(sorted []float64, m, alpha float64) float64 {
	logs := make([]float64, 4)
	for i := range logs {
		stake := min(mostBet/(1-m), math.Sqrt(2*-math.Log(alpha)/float64(len(sorted)))*math.Pow(2, float64(i+1)))
		for at := 0; at < len(sorted); {
			same := at + 1
			for same < len(sorted) && sorted[same] == sorted[at] {
				same++
			}
			logs[i] += float64(same-at) * math.Log1p(stake*(m-sorted[at]))
			at = same
		}
	}
	most, wealth := slices.Max(logs), 0.0
	for i, share := range []float64{1. / 2, 1. / 4, 1. / 8, 1. / 8} { // less for the stakes whose bounds are narrow anyway
		wealth += share * math.Exp(logs[i]-most)
	}
	return most + math.Log(wealth)
}

// ClusterUpperBound is [UpperBound] for rows that come in independent clusters of any dependence inside: sums are the sums
// of their values, each in [0, size]. It is Hoeffding's bound of the mean over rows, which is wider.
func ClusterUpperBound(sums []float64, sizes []int, alpha float64) (float64, error) {
	if !(alpha > 0 && alpha < 1) || len(sums) != len(sizes) {
		return 0, fmt.Errorf("upper bound: alpha %v, %d sums and %d sizes", alpha, len(sums), len(sizes))
	}
	total, rows, squares := 0.0, 0.0, 0.0
	for i, s := range sums {
		n := float64(sizes[i])
		if !(s >= 0 && s <= n+1e-9) {
			return 0, fmt.Errorf("upper bound: the sum %v of cluster %d is outside 0 to %v", s, i, n)
		}
		total, rows, squares = total+s, rows+n, squares+n*n
	}
	if rows == 0 {
		return 1, nil
	}
	return min(1, total/rows+math.Sqrt(squares*-math.Log(alpha)/2)/rows), nil
}
