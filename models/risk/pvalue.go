package risk

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// hoeffdingBentkus is a p-value of the hypothesis that n independent losses from 0 to 1, whose sum is given, have an expectation
// above alpha: the smaller one of Hoeffding's exp(-n h(mean, alpha)) and Bentkus' e P(Bin(n, alpha) <= ceil(sum)). If losses are
// 0 or 1 (binary), the latter is exact without the factor e. With n = 0 it is 1.
func hoeffdingBentkus(sum float64, n int, alpha float64, binary bool) float64 {
	if n == 0 {
		return 1
	}
	factor, mean := math.E, min(sum/float64(n), 1)
	if binary {
		factor = 1
	}
	hoeffding := math.Exp(-float64(n) * divergence(min(mean, alpha), alpha))
	bentkus := factor * distuv.Binomial{N: float64(n), P: alpha}.CDF(math.Ceil(sum-rounding))
	return min(hoeffding, bentkus)
}

// rounding is how far a sum of losses that is a whole number may be above it.
const rounding = 1e-9

// divergence is that of Kullback and Leibler between coins with the probabilities a and b, b in (0, 1).
func divergence(a, b float64) float64 {
	d := 0.0
	if a > 0 {
		d += a * math.Log(a/b)
	}
	if a < 1 {
		d += (1 - a) * math.Log((1-a)/(1-b))
	}
	return d
}

// betsWin reports whether bets that losses are below r win more than 1/delta at some time t: prod (i <= t) 1 - nu_i (L_i - r). While
// the expectation of independent losses from 0 to 1, in the order in which they were drawn, is at least r, that has a probability of at
// most delta. The stake of a bet depends on the losses before it: nu_i = min(1, sqrt(2 ln(1/delta) / (n var_i-1))), with var_0 = 1/4.
func betsWin(losses []float64, r, delta float64) bool {
	n, wealth, sum, squares := float64(len(losses)), 0.0, 0.5, 0.25
	least := -math.Log(delta)
	for i, loss := range losses {
		variance := squares / float64(i+1)
		stake := min(1, math.Sqrt(2*least/(n*variance)))
		wealth += math.Log1p(-stake * (loss - r)) // -Inf: all is lost
		if wealth > least {
			return true
		}
		sum += loss
		mean := sum / float64(i+2)
		squares += (loss - mean) * (loss - mean)
	}
	return false
}

// conformal is what conformal risk control compares with alpha: (n mean + 1) / (n + 1), for the sum of n losses from 0 to 1.
func conformal(sum float64, n int) float64 { return (sum + 1) / float64(n+1) }
