package kinds

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// weighted is the 0-1 loss with the same total weight for every label over the
// training rows, however rare the label is. A wrong answer for label y costs
// 1/(C p_y), where p_y is the share of y among the training rows and C the
// number of labels. The mean loss of a constant answer over the training rows
// is (C-1)/C: 0.5 for two labels.
type weighted struct{ weight map[string]float32 }

type weightedSettings struct {
	By string `json:"by"`
}

func newWeighted(_ context.Context, s *part.Setup, settings map[string]any) (part.TaskLoss, error) {
	cfg := weightedSettings{By: "class"}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.By != "class" {
		return nil, fmt.Errorf("by is %q; it must be class", cfg.By)
	}
	splits := s.TrainingSplits()
	count, rows := make(map[string]int), 0
	for n, e := range s.Source.Entries() {
		if splits[n] != costs.Train {
			continue
		}
		if e.Label == "" {
			return nil, fmt.Errorf("instance %q has no label, which the weighted loss needs", e.ID)
		}
		count[e.Label]++
		rows++
	}
	l := weighted{make(map[string]float32)}
	for _, label := range s.Labels {
		if count[label] == 0 {
			return nil, fmt.Errorf("no training row has the label %q: its weight is unknown", label)
		}
		l.weight[label] = float32(float64(rows) / (float64(len(s.Labels)) * float64(count[label])))
	}
	return l, nil
}

// Loss returns 0 for the instance's own label and the label's weight for
// anything else.
func (l weighted) Loss(in *part.Instance, p part.Prediction) (float32, error) {
	if in.Label == "" {
		return 0, errors.New("has no label, which the weighted loss needs")
	}
	if p.Label == in.Label {
		return 0, nil
	}
	return l.weight[in.Label], nil
}
