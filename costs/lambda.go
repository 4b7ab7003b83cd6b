package costs

import "math"

// MaxLambda is the largest price of advice. It is far beyond any fee's worth, and low enough for sums of costs to stay
// finite.
const MaxLambda = 1e12

// UsableLambda tells whether a number can be the price of advice, by which its fees are multiplied: 0 to MaxLambda.
func UsableLambda(l float64) bool { return l >= 0 && l <= MaxLambda && !math.Signbit(l) }
