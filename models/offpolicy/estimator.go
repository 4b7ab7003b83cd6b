package offpolicy

import (
	"fmt"
	"slices"
	"strings"
)

// Estimator makes a term of every row for a policy. Its estimate of the policy's cost is the sum of the values over the sum
// of the norms, both weighted by the rows.
type Estimator struct {
	Name      string    // in settings and reports
	About     string    // one line for reports
	Estimates bool      // it needs estimates of the costs
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
