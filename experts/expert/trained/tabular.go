package trained

import (
	"context"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
)

// newTabularLearner finishes an expert that learns from the training rows of an
// encoded table, as newLearner does.
func newTabularLearner(ctx context.Context, s *part.Setup, e *learner, layout tabular.Layout, kind string, learning any, extra ...string) (*learner, error) {
	var err error
	if e.encoder, err = newGroupEncoder(s, layout); err != nil {
		return nil, err
	}
	if len(s.Labels) != 2 {
		return nil, fmt.Errorf("labels: an expert of this kind needs exactly two labels; the configuration has %d", len(s.Labels))
	}
	if e.examples, err = newTrainingRows(ctx, s, e.Seed); err != nil {
		return nil, err
	}
	return newLearner(s, e, kind, learning, extra...)
}
