package kinds

import (
	"context"

	"pipe/experts/builder/part"
)

// letters charges a price per letter of the text for a wrong answer.
type letters struct {
	Price float64 `json:"price"`
}

func newLetters(_ context.Context, s *part.Setup, settings map[string]any) (part.TaskLoss, error) {
	l := &letters{Price: 1}
	return l, s.Settings(settings, l)
}

func (l *letters) Loss(in *part.Instance, p part.Prediction) (float32, error) {
	if p.Label == in.Label {
		return 0, nil
	}
	return float32(l.Price * float64(len(in.Text))), nil
}
