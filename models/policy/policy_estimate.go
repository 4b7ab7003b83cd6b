package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/estimate"
)

// Estimate is a policy by estimates of the expected loss of every pair: it takes the pair with the smallest estimate plus
// fee. The best fixed pair, the one with the smallest Constant plus fee, is left only where another is cheaper by more
// than Margin. So raising the fee of a pair never makes that pair chosen.
type Estimate struct {
	Blend    estimate.Blend
	Constant []float64 // J(K+1), mean loss of every pair on the training rows
	Margin   float64   // in the unit of the task loss, at least 0
	// Caution is added to the cost of every pair in decisions, J(K+1) values of at least 0: what a log tells of a pair that it seldom
	// executed is uncertain. A pair with +Inf is never chosen. Expected losses do not have it. nil: none.
	Caution []float64
	// Curve makes calibrated losses of estimates, for the outputs expected_loss and expected_cost. Selection is then
	// subtracted, as a function of how far the score of a pair is below the largest, since the smallest of many estimates is
	// too small on average; the result stays between the ends of Curve. Decisions use neither. Empty curves change nothing.
	Curve, Selection estimate.Curve
	// Prices makes an any-price policy: fees are inputs of its file. nil: they are those of Policy.Actions at
	// Policy.Lambda.
	Prices *PriceRange
	// Usage makes fees of what calls use, at prices that are inputs too; nil: measured fees are part of the estimates. Only an
	// any-price policy has it, and one with fixed prices that was made of such a policy ([Policy.At]).
	Usage *Usage
}

// PriceRange are the prices that an any-price policy was compared with the best fixed pair of each price for. Outside of
// it the policy decides by the same rule, but nothing is known about its gain.
type PriceRange struct {
	Lambda [2]float64 `json:"lambda" yaml:"lambda"` // smallest and largest multiplier of the fees of advice
	Fee    [2]float64 `json:"fee" yaml:"fee"`       // smallest and largest factor on the fee of one expert or advice
}

// DefaultPriceRange is every lambda up to 8, and every fee from a quarter to four times of what it is.
func DefaultPriceRange() PriceRange {
	return PriceRange{Lambda: [2]float64{0, 8}, Fee: [2]float64{0.25, 4}}
}

// Check returns why the range is not one.
func (r PriceRange) Check() error {
	return errors.Join(checkRange("lambda", r.Lambda), checkRange("fee", r.Fee))
}

func checkRange(name string, v [2]float64) error {
	if !(v[0] >= 0 && v[0] <= v[1] && v[1] <= costs.MaxLambda) {
		return fmt.Errorf("%s: %g to %g is not a range from a smallest to a largest number, both from 0 to %g", name, v[0], v[1], costs.MaxLambda)
	}
	return nil
}

// PricesKey is the key of the metadata of an any-price policy, whose value is the [PriceRange] in JSON.
const PricesKey = "prices"

// JSON is the value that a policy file has under [PricesKey].
func (r PriceRange) JSON() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // plain numbers
	}
	return string(b)
}

// choosable marks the pairs that may be chosen.
func (e *Estimate) choosable(a *costs.Actions) []bool {
	mask := a.Mask()
	for i, v := range e.Caution {
		mask[i] = mask[i] && !math.IsInf(v, 1)
	}
	return mask
}

// caution is that of a pair that may be chosen.
func (e *Estimate) caution(pair int) float64 {
	if e.Caution == nil || math.IsInf(e.Caution[pair], 1) {
		return 0
	}
	return e.Caution[pair]
}

func (e *Estimate) checkCaution(a *costs.Actions) error {
	if e.Caution != nil && len(e.Caution) != a.Len() {
		return fmt.Errorf("cautions of %d pairs for %d actions", len(e.Caution), a.Len())
	}
	for i, v := range e.Caution {
		if !(v >= 0) {
			return fmt.Errorf("the caution of %s is %g", a.Name(i), v)
		}
	}
	if !slices.Contains(e.choosable(a), true) {
		return errors.New("no pair may be chosen")
	}
	return nil
}

// check reports why the estimate does not fit the policy.
func (e *Estimate) check(p *Policy) error {
	if e == nil {
		return fmt.Errorf("a policy with the decoder %s needs an estimate", DecoderEstimate)
	}
	if len(e.Constant) != p.Actions.Len() {
		return fmt.Errorf("%d mean losses for %d actions", len(e.Constant), p.Actions.Len())
	}
	for i, v := range e.Constant {
		if !isFinite(v) {
			return fmt.Errorf("the mean loss of %s is %g", p.Actions.Name(i), v)
		}
	}
	if !isFinite(e.Margin) || e.Margin < 0 {
		return fmt.Errorf("the margin is %g", e.Margin)
	}
	if err := e.checkCaution(p.Actions); err != nil {
		return err
	}
	if len(p.Members) > 0 {
		return errors.New("a policy by estimates has no members")
	}
	if e.Prices != nil {
		if err := e.Prices.Check(); err != nil {
			return fmt.Errorf("prices: %w", err)
		}
	}
	if e.Usage != nil {
		if err := e.Usage.check(p.FeatureDim(), p.Actions); err != nil {
			return fmt.Errorf("usage: %w", err)
		}
	}
	if err := errors.Join(e.Curve.Check(), e.Selection.Check()); err != nil {
		return fmt.Errorf("calibration: %w", err)
	}
	return e.Blend.Check(p.FeatureDim(), p.Actions.Len())
}
