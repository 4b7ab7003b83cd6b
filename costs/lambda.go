package costs

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
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

// LambdaIdle says why lambda changes nothing; it is empty where it does, because some advice that can be bought has a fee.
func (a *Actions) LambdaIdle() string {
	for i, available := range a.Mask() {
		if _, k := a.Pair(i); available && a.Advice[k].Fee > 0 {
			return ""
		}
	}
	if len(a.Advice) == 1 {
		return "lambda has no effect: it multiplies the fees of advice, and there is no advice"
	}
	return "lambda has no effect: it multiplies the fees of advice, and no advice has one"
}

// feesIdle says why neither lambda nor a factor on a fee changes anything; it is empty where one does.
func (a *Actions) feesIdle() string {
	for i, available := range a.Mask() {
		if j, _ := a.Pair(i); available && a.Experts[j].Fee > 0 {
			return ""
		}
	}
	if a.LambdaIdle() == "" {
		return ""
	}
	return "lambda and factors on fees have no effect: no expert and no advice has a fee"
}

// listed writes at least two numbers as in a sentence.
func listed(values []float64) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprintf("%g", v))
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// IdlePrices are sentences on prices that were asked for and change nothing on this table: multipliers other than 1, or
// with anyPrice the ranges of an any-price policy. There are none where prices have an effect.
func (t *Tensor) IdlePrices(lambdas []float64, anyPrice bool) []string {
	why := t.Actions.LambdaIdle()
	switch {
	case anyPrice:
		why = cmp.Or(t.Actions.feesIdle(), why)
	case len(lambdas) == 1 && lambdas[0] == 1:
		return nil
	}
	if why == "" {
		return nil
	}
	if !anyPrice && len(lambdas) > 1 {
		why += "; so " + listed(lambdas) + " are one price"
	}
	if t.HasFees() {
		why += "; measured fees are part of the losses, and stay as they are"
	}
	return []string{"On this table " + why + "."}
}
