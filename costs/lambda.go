package costs

import "math"

// MaxLambda is the largest price of advice. It is far above any realistic price, and low enough for sums of costs to
// stay finite.
const MaxLambda = 1e12

// UsableLambda reports whether l can be the price of advice, the multiplier of its fees: 0 to MaxLambda.
func UsableLambda(l float64) bool { return l >= 0 && l <= MaxLambda && !math.Signbit(l) }
