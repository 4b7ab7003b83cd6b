package offpolicy

import (
	"context"
	"errors"
	"fmt"

	"pipe/models/regress"
)

// leastPast is the fewest rows from which costs are estimated for later ones.
const leastPast = 64

// FitCostsOfPast is [FitCosts] from the rows before each row, as a service has them, so that an exact interval of package
// anytime may use them. The rows of the log must be in the order of their times. The rows are estimated in blocks that grow
// with the rows before them, and nothing of a later row is used, not even the spread of its features. Those before row first are
// not estimated: there are too few before them. Folds are not used.
func FitCostsOfPast(ctx context.Context, l *Log, x Features, s FitSettings) (estimates []float64, first int, err error) {
	own := *l
	own.Estimates = nil
	out, first, err := own.fitPast(ctx, x, s)
	if err != nil {
		return nil, 0, fmt.Errorf("fit costs: %w", err)
	}
	return out, first, nil
}

func (l *Log) fitPast(ctx context.Context, x Features, s FitSettings) (out []float64, first int, err error) {
	if err := l.Validate(); err != nil {
		return nil, 0, err
	}
	if s.Family == nil {
		return nil, 0, errors.New("estimates need a family of regressors")
	}
	rows := l.everyRow()
	out = make([]float64, len(rows)*l.Pairs)
	for from := leastPast; from < len(rows); {
		f, err := l.newCostFit(x, s, rows[:from])
		if err != nil {
			return nil, 0, err
		}
		f.out = out
		to := min(len(rows), from+max(leastPast, from/2))
		if err := f.fold(ctx, s.Family, regress.Fold{Fit: rows[:from], Held: rows[from:to]}); err != nil {
			return nil, 0, err
		}
		from = to
	}
	return out, min(leastPast, len(rows)), nil
}
