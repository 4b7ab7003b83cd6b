package kinds

import (
	"context"
	"errors"

	"pipe/experts/builder/part"
)

// zeroOne is the 0-1 loss: 1 where the answer is not the label.
type zeroOne struct{}

func newZeroOne(_ context.Context, s *part.Setup, settings map[string]any) (part.TaskLoss, error) {
	return zeroOne{}, s.Settings(settings, &struct{}{})
}

// Loss returns 0 for the instance's own label and 1 for anything else.
func (zeroOne) Loss(in *part.Instance, p part.Prediction) (float32, error) {
	switch {
	case in.Label == "":
		return 0, errors.New("has no label, which the 0-1 loss needs")
	case p.Label == in.Label:
		return 0, nil
	}
	return 1, nil
}
