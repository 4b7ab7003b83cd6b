package offpolicy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Estimator makes a term of every row for a policy. Its estimate of the policy's cost is the sum of the values over the sum
// of the norms, both weighted by the rows.
type Estimator struct {
	Name      string    // in settings and reports
	Estimates bool      // it needs estimates of the costs
	Caution   string    // what a reader of its intervals must know; "": nothing
	Fit       Weighting // how the estimates of the costs should be fitted
	Term      func(r Term, t Tuning) (value, norm float64)
}

// Term is what an estimator knows of a row and a policy.
type Term struct {
	Ratio    float64 // w, the probability of the executed pair by the policy over that in the log
	Cost     float64 // c, of the executed pair
	Estimate float64 // q, of the cost of the executed pair; 0 without estimates
	Expected float64 // the mean of the estimates under the policy; 0 without estimates
}

// Tuning are the numbers that some estimators need.
type Tuning struct {
	Tau    float64 `json:"tau"`    // switch: the largest ratio that counts, at least 0
	Lambda float64 `json:"lambda"` // dros: ratios are at most sqrt(lambda) / 2, at least 0
}

// estimators is the registry, in the order of reports: a new estimator is a file and a line here.
var estimators = []Estimator{
	doublyRobust,
	mrdr,
	switched,
	shrunk,
	snips,
	ips,
	direct,
}

// Estimators returns all estimators, in the order of reports.
func Estimators() []Estimator { return slices.Clone(estimators) }

// EstimatorNamed returns the estimator with this name. The error lists the known names.
func EstimatorNamed(name string) (Estimator, error) {
	var known []string
	for _, e := range estimators {
		if e.Name == name {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return Estimator{}, fmt.Errorf("estimator %q, known are %s", name, strings.Join(known, ", "))
}

// ErrNoMatch means that an estimator needs a row whose executed pair is the policy's choice, and there is none.
var ErrNoMatch = errors.New("the policy never chooses a pair that was executed; other estimators can judge it")

// Influence has a value for each of n rows, whose mean is the estimate V of a policy's cost: V + v (value - V norm) / mean(v norm),
// v the weight of the row. For a mean of values it is the value itself; for a ratio, how a row moves it. Errors are
// [ErrNoMatch], and a [DataError] for a row whose ratio is too large.
func (e Estimator) Influence(n int, weight func(i int) float64, term func(i int) Term, t Tuning) ([]float64, error) {
	out, norms := make([]float64, n), make([]float64, n)
	values, norm := 0.0, 0.0
	for i := range n {
		r, v := term(i), weight(i)
		value, own := e.Term(r, t)
		out[i], norms[i] = v*value, v*own
		values += out[i]
		norm += norms[i]
		if err := r.tooLarge(i, v*r.Ratio, out[i]); err != nil {
			return nil, err
		}
	}
	if norm == 0 {
		return nil, fmt.Errorf("%s: %w", e.Name, ErrNoMatch)
	}
	estimate := values / norm
	for i := range out {
		out[i] = estimate + (out[i]-estimate*norms[i])*float64(n)/norm
		if err := term(i).tooLarge(i, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tooLarge reports values of row i whose squares are not finite: variances and effective rows need them.
func (t Term) tooLarge(i int, values ...float64) error {
	for _, v := range values {
		if !(math.Abs(v) < 1e150) {
			return &DataError{Row: i + 1, Column: "logged", Msg: fmt.Sprintf("a ratio of probabilities of %v makes a term that is too large", t.Ratio)}
		}
	}
	return nil
}
