package anytime

import "math"

// Side bounds a mean from below: the sums of one side of a [Sequence]. Values are scaled by 1 / (1 + k).
type Side struct {
	Bets     float64 `json:"bets"`     // sum of lambda
	Weighted float64 `json:"weighted"` // sum of lambda x
	Penalty  float64 `json:"penalty"`  // sum of (x - centre)^2 (-ln(1 - lambda) - lambda)
	Sum      float64 `json:"sum"`      // sum of x
	Squares  float64 `json:"squares"`  // sum of (x - centre)^2
}

// add takes a value that is at least centre - 1. The centre and lambda, in [0, 1), do not depend on it.
func (b *Side) add(x, centre, lambda float64) {
	square := (x - centre) * (x - centre)
	b.Bets += lambda
	b.Weighted += lambda * x
	b.Penalty += square * (-math.Log1p(-lambda) - lambda)
	b.Sum += x
	b.Squares += square
}

// low is the bound, which is wrong at any time with probability at most alpha; -Inf before the first bet.
func (b *Side) low(alpha float64) float64 {
	if b.Bets == 0 {
		return math.Inf(-1)
	}
	return (b.Weighted + math.Log(alpha) - b.Penalty) / b.Bets
}

// largestBet is the limit of lambda.
const largestBet = 0.5

// bet is lambda of row t, counted from 1, for a variance that the rows before it suggest. It is 0 where they suggest none.
func bet(t int, variance, alpha float64) float64 {
	if variance == 0 {
		return 0
	}
	n := float64(t)
	return min(largestBet, math.Sqrt(2*math.Log(1/alpha)/(n*math.Log1p(n)*variance)))
}
