package inspect

import (
	"errors"
	"fmt"
	"io"

	"pipe/costs"
)

// Options says in which regimes a tensor is summarised, where its actions are if not in the file, and what an index is
// searched for.
type Options struct {
	Lambdas []float64
	Actions string
	Queries []string // for which an index is searched
}

// DefaultOptions is the regime lambda = 1.
func DefaultOptions() Options { return Options{Lambdas: []float64{1}} }

// Validate reports every problem at once.
func (o Options) Validate() error {
	var problems []error
	for _, l := range o.Lambdas {
		if !costs.UsableLambda(l) {
			problems = append(problems, fmt.Errorf("lambda %v is not a number from 0 to %g", l, costs.MaxLambda))
		}
	}
	return errors.Join(problems...)
}

// Explanation is what Inspect says about one file: its exported fields are the JSON object of pipe inspect --json.
type Explanation interface {
	WriteText(w io.Writer) error
}
