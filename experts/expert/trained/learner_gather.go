package trained

import (
	"context"

	"pipe/experts/builder/part"
	"pipe/internal/parallel"
)

// gatherRows is how many examples are read at a time.
const gatherRows = 4096

// gather turns every example into a row.
func (e *learner) gather(ctx context.Context, t *part.Preparation) (*trainingSet, error) {
	reader, err := e.examples.Open(ctx, t)
	if err != nil {
		return nil, err
	}
	set := &trainingSet{Width: e.encoder.Width(), Classes: len(e.folds.Labels), Class: e.folds.Class}
	set.X = make([]float32, len(set.Class)*set.Width)
	t.Progress.Start(int64(set.Len()), "rows of "+e.name)
	defer t.Progress.Done()
	chunks := (set.Len() + gatherRows - 1) / gatherRows
	err = parallel.Each(ctx, t.Workers, chunks, func(ctx context.Context, i int) error {
		from := i * gatherRows
		to := min(from+gatherRows, set.Len())
		batch, shown, err := reader.Read(ctx, from, to)
		if err != nil {
			return err
		}
		if err := e.encoder.Encode(ctx, set.X[from*set.Width:to*set.Width], batch, [][]part.AdvicePayload{shown}); err != nil {
			return err
		}
		t.Progress.Add(int64(to - from))
		return nil
	})
	return set, err
}
