package eval

import (
	"context"

	"pipe/costs"
	"pipe/models"
	"pipe/models/auto"
	"pipe/onnx/ort"
	"pipe/pipeline/findings"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// learningMethod names the recipe of learning curves.
const learningMethod = "auto without networks"

// learning adds the learning curve to a report: the recipe auto without networks, which take longest, is trained again on
// parts of the training rows.
func (e *evaluation) learning(ctx context.Context, rt *ort.Runtime, r *report.Report, f *findings.Evidence, lambdas []float64, progress stage.Progress) (err error) {
	s := auto.DefaultSettings()
	s.Networks, s.Trees, s.Seed = nil, nil, e.o.Seed
	progress.Start(int64(findings.LearningRuns()), "learning curve")
	r.Learning, err = f.Learning(ctx, lambdas, learningMethod, func(ctx context.Context, t *costs.Tensor) ([][]int, bool, error) {
		if t.Len() < 2*s.Folds {
			return nil, false, nil
		}
		policies, _, err := auto.Train(ctx, t, lambdas, s, models.Options{Runtime: rt})
		if err != nil {
			return nil, false, err
		}
		var actions [][]int
		for _, p := range policies {
			l, err := replay.Exported(ctx, rt, p, e.t, e.rows)
			if err != nil {
				return nil, false, err
			}
			actions = append(actions, l.Action)
		}
		progress.Add(1)
		return actions, true, nil
	})
	return err
}
