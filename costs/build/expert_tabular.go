package build

import (
	"context"
	"fmt"

	"pipe/costs/builder/part"
	"pipe/featurize/tabular"
)

// newTabularExpert finishes an expert that learns from the training rows of an
// encoded table, as newTrained does.
func newTabularExpert(ctx context.Context, s *part.Setup, e *trained, layout tabular.Layout, kind string, learning any, extra ...string) (*trained, error) {
	var err error
	if e.encoder, err = newGroupEncoder(s, layout); err != nil {
		return nil, err
	}
	if len(s.Labels) != 2 {
		return nil, fmt.Errorf("labels: there are %d, an expert of this kind tells two apart", len(s.Labels))
	}
	if e.examples, err = newTrainingRows(ctx, s, e.Seed); err != nil {
		return nil, err
	}
	return newTrained(s, e, kind, learning, extra...)
}
