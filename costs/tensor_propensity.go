package costs

import "fmt"

// PropensitySlack is how far the sum of the propensities of a row may be from 1: more than the rounding of float32, and far less
// than any probability that exploration gives.
const PropensitySlack = 1e-6

// checkPropensities returns a *DataError about propensities that no system can have had. A pair that is unavailable now may have
// had one.
func (t *Tensor) checkPropensities() error {
	if t.Propensity == nil {
		return nil
	}
	a := t.Actions.Len()
	for i, p := range t.Propensity {
		if p < 0 || p > 1 {
			return cellError(colPropensity, i, a, fmt.Sprintf("is %v; a probability is from 0 to 1, or null where it is not known", p))
		}
	}
	for n := range t.Len() {
		if err := t.checkRowPropensities(n); err != nil {
			return err
		}
	}
	return nil
}

// checkRowPropensities checks the propensities of row n with each other, and with what was executed.
func (t *Tensor) checkRowPropensities(n int) error {
	of := t.Propensities(n)
	sum, all := 0.0, true
	for _, p := range of {
		if all = all && p == p; p == p {
			sum += p
		}
	}
	if sum > 1+PropensitySlack || all && sum < 1-PropensitySlack {
		return &DataError{Row: n + 1, Column: colPropensity, Msg: fmt.Sprintf("the probabilities of the pairs sum to %v, not to 1", sum)}
	}
	if i := t.Observed(n); i >= 0 && of[i] == 0 {
		return cellError(colPropensity, n*len(of)+i, len(of), fmt.Sprintf("is 0, but %s was executed: its loss alone is known", t.Actions.Name(i)))
	}
	return nil
}

// Propensities returns the propensities of instance n, a view of A values. The tensor must have them.
func (t *Tensor) Propensities(n int) []float64 {
	a := t.Actions.Len()
	return t.Propensity[n*a : (n+1)*a : (n+1)*a]
}

// Observed returns the only pair of instance n whose loss is known; -1 if there is none, or more than one.
func (t *Tensor) Observed(n int) int {
	observed := -1
	for i, v := range t.Losses(n) {
		switch {
		case v != v:
		case observed >= 0:
			return -1
		default:
			observed = i
		}
	}
	return observed
}
