package inspect

import (
	"errors"
	"fmt"
	"io"

	"pipe/costs"
	"pipe/internal/storage"
)

// Options has the regimes in which a tensor is summarised, the file of its actions if they are not in the tensor, and
// the queries for an index.
type Options struct {
	Lambdas []float64
	Actions storage.Location
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

// Explanation describes one file: its exported fields are the JSON object of pipe inspect --json.
type Explanation interface {
	WriteText(w io.Writer) error
}
