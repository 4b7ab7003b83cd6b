package builder

import (
	"context"
	"fmt"

	"pipe/experts/builder/part"
	"pipe/internal/textfile"
)

// losses are the task losses of the answers to a batch, an expert's own where it has them.
func (p *plan) losses(ctx context.Context, batch []part.Instance, answers []part.Prediction) ([]float32, error) {
	out := make([]float32, len(answers))
	var open []int // answers that the task loss judges
	for n, a := range answers {
		if out[n] = a.Loss; !a.Judged {
			open = append(open, n)
		}
	}
	some, given := make([]part.Instance, len(open)), make([]part.Prediction, len(open))
	for i, n := range open {
		some[i], given[i] = batch[n], answers[n]
	}
	judged, err := lossesOf(ctx, p.Loss, some, given)
	if err != nil {
		return nil, err
	}
	for i, n := range open {
		out[n] = judged[i]
	}
	return out, nil
}

// lossesOf asks the task loss, all at once where it can.
func lossesOf(ctx context.Context, loss part.TaskLoss, batch []part.Instance, answers []part.Prediction) (out []float32, err error) {
	if o, ok := loss.(part.OpenLoss); ok {
		if out, err = o.Losses(ctx, batch, answers); err != nil {
			return nil, err
		}
		if len(out) != len(batch) {
			return nil, fmt.Errorf("%s gave %d losses for %d answers", lossPart, len(out), len(batch))
		}
	} else {
		out = make([]float32, len(batch))
		for n := range batch {
			if out[n], err = loss.Loss(&batch[n], answers[n]); err != nil {
				return nil, fmt.Errorf("instance %q: %w", batch[n].ID, err)
			}
		}
	}
	for n, v := range out {
		if !isCost(v) {
			return nil, fmt.Errorf("instance %q: %s gave %v for the answer %q; a finite number of at least 0 is needed", batch[n].ID, lossPart, v, textfile.Short(answers[n].Label))
		}
	}
	return out, nil
}
