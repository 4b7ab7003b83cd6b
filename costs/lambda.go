package costs

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// MaxLambda is the largest price of advice. It is far above any realistic price, and low enough for sums of costs to
// stay finite.
const MaxLambda = 1e12

// UsableLambda reports whether l can be the price of advice, the multiplier of its fees: 0 to MaxLambda.
func UsableLambda(l float64) bool { return l >= 0 && l <= MaxLambda && !math.Signbit(l) }

// CheckLambdas reports every problem of a list of prices: it is empty, or one of them is not usable or is a duplicate.
func CheckLambdas(lambdas []float64) error {
	if len(lambdas) == 0 {
		return errors.New("lambdas: the list is empty")
	}
	var problems []error
	for i, l := range lambdas {
		if !UsableLambda(l) {
			problems = append(problems, fmt.Errorf("lambdas: %g is not a number from 0 to %g", l, MaxLambda))
		}
		if slices.Contains(lambdas[:i], l) {
			problems = append(problems, fmt.Errorf("lambdas: %g is a duplicate", l))
		}
	}
	return errors.Join(problems...)
}
