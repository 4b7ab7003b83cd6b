package drift

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// ShareChange is the share of one category in a baseline and now, and an interval of the difference, now minus baseline.
type ShareChange struct {
	Base, Now float64
	Low, High float64
}

// ShareChanges compares the shares of every category. With about the probability 1-alpha all intervals together contain
// the true differences: each is Newcombe's hybrid score interval (1998, method 10) at the level 1 - alpha/categories. If
// one list is empty, there are none.
func ShareChanges(base, now []int64, alpha float64) []ShareChange {
	n, m := float64(sum(base)), float64(sum(now))
	if n == 0 || m == 0 {
		return nil
	}
	z := distuv.UnitNormal.Quantile(1 - alpha/float64(2*len(base)))
	out := make([]ShareChange, len(base))
	for i := range out {
		p, q := float64(base[i])/n, float64(now[i])/m
		pLow, pHigh := wilson(p, n, z)
		qLow, qHigh := wilson(q, m, z)
		out[i] = ShareChange{
			Base: p, Now: q,
			Low:  q - p - math.Hypot(q-qLow, pHigh-p),
			High: q - p + math.Hypot(qHigh-q, p-pLow),
		}
	}
	return out
}

// wilson is the score interval of a share p of n (Wilson 1927).
func wilson(p, n, z float64) (low, high float64) {
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, centre-half), min(1, centre+half)
}
