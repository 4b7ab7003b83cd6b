package expert

import (
	"context"
	"errors"
	"fmt"

	"pipe/experts/builder/part"
)

// tableClassifier is an ONNX classifier over numeric columns. Columns that an
// advice does not reveal are replaced by a fill value.
type tableClassifier struct {
	model   *RowModel
	columns *part.Columns
	at      []int
	cfg     tableClassifierSettings
}

type tableClassifierSettings struct {
	modelSettings
	Columns    []string  `json:"columns"`
	Mean       []float32 `json:"mean"`       // per column; none: 0
	Std        []float32 `json:"std"`        // per column; none: 1
	Missing    *float32  `json:"missing"`    // replaces an empty cell; not set: an empty cell is an error
	Hidden     float32   `json:"hidden"`     // replaces a column that is not revealed, after scaling
	Indicators bool      `json:"indicators"` // append 1 or 0 per column: revealed or not
}

func newTableClassifier(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := tableClassifierSettings{modelSettings: defaultModelSettings()}
	cfg.Batch = 256
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := cfg.checkColumns(); err != nil {
		return nil, err
	}
	at, err := s.Source.Columns().Find(cfg.Columns...)
	if err != nil {
		return nil, err
	}
	model, err := openModel(ctx, s, &cfg.modelSettings)
	if err != nil {
		return nil, err
	}
	e := &tableClassifier{model: model, columns: s.Source.Columns(), at: at, cfg: cfg}
	if err := model.setShape(int64(e.width())); err != nil {
		return nil, errors.Join(fmt.Errorf("model %q: %w", s.Path(cfg.Model), err), model.Close())
	}
	return e, nil
}

func (cfg *tableClassifierSettings) checkColumns() error {
	n := len(cfg.Columns)
	if n == 0 {
		return errors.New("columns: not set")
	}
	if len(cfg.Mean) != 0 && len(cfg.Mean) != n || len(cfg.Std) != 0 && len(cfg.Std) != n {
		return fmt.Errorf("mean has %d and std %d values for %d columns", len(cfg.Mean), len(cfg.Std), n)
	}
	for i, v := range cfg.Std {
		if !(v > 0) {
			return fmt.Errorf("std of column %q is %v; it must be positive", cfg.Columns[i], v)
		}
	}
	return nil
}

// width returns the number of values of one row.
func (e *tableClassifier) width() int {
	if e.cfg.Indicators {
		return 2 * len(e.at)
	}
	return len(e.at)
}

// Labels returns the labels in the order of the probabilities.
func (e *tableClassifier) Labels() []string { return e.cfg.Labels }

// Predict runs the classifier once per level.
func (e *tableClassifier) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue
		}
		values := make([]float32, len(batch)*e.width())
		for n := range batch {
			if err := e.fill(values[n*e.width():(n+1)*e.width()], &batch[n], level[n].Revealed); err != nil {
				return nil, err
			}
		}
		p, err := e.model.Probabilities(ctx, values)
		if err != nil {
			return nil, err
		}
		out[k] = make([]part.Prediction, len(batch))
		for n := range batch {
			row := p[n*e.model.classes : (n+1)*e.model.classes]
			out[k][n] = part.Prediction{Label: e.cfg.Labels[Argmax(row)], Probabilities: row}
		}
	}
	return out, nil
}

// fill writes one row: scaled columns, then the indicators.
func (e *tableClassifier) fill(dst []float32, in *part.Instance, revealed []bool) error {
	for i, column := range e.at {
		if revealed != nil && !revealed[column] {
			dst[i] = e.cfg.Hidden
			continue
		}
		v, err := e.columns.NumberOr(in, column, e.cfg.Missing)
		if err != nil {
			return err
		}
		if len(e.cfg.Mean) > 0 {
			v -= e.cfg.Mean[i]
		}
		if len(e.cfg.Std) > 0 {
			v /= e.cfg.Std[i]
		}
		dst[i] = v
		if e.cfg.Indicators {
			dst[len(e.at)+i] = 1
		}
	}
	return nil
}

// Close frees the classifier.
func (e *tableClassifier) Close() error { return e.model.Close() }
