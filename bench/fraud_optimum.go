package bench

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/featurize/tabular"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/pipeline/features"
	"pipe/pipeline/methods"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
)

// addOptimum adds the policy that knows the distribution of the generated world: on the reported rows it chooses the
// best pair of every cell of the base view. Every other row gets its distance to this policy, and learned methods also
// the share of rows on which they choose the same pair. Nothing is added for real data, or if the task loss is not that
// of the law.
func (x *fraudTrial) addOptimum(ctx context.Context, r *report.Report, t *costs.Tensor, rows []int, learned []replay.Decisions) error {
	law := x.law(t.Actions, x.s)
	if law == nil {
		return nil
	}
	cells, err := x.cells(ctx, rows)
	if err != nil {
		return err
	}
	anything := func(action int) bool { return true }
	for _, lambda := range x.s.Train.Lambdas {
		best := make([]int, len(rows))
		for m, cell := range cells {
			best[m], _ = law.Best(cell, lambda, anything)
		}
		bayes := t.TrueLoss(rows, best, lambda)
		for i := range r.Rows {
			row := &r.Rows[i]
			if row.Lambda == nil || *row.Lambda != lambda {
				continue
			}
			row.ExcessMean, row.ExcessStd = report.Num(row.TrueLossMean-bayes), row.TrueLossStd
			row.BayesMatch = bayesMatch(learned, row.Method, lambda, best)
		}
		r.Rows = append(r.Rows, report.Row{
			Method: methods.Bayes, Lambda: report.Num(lambda), N: len(t.Rows(costs.Train)), Seeds: 1, TrueLossMean: bayes, ExcessMean: report.Num(0),
			AdviceRate: report.Num(t.Actions.AdviceRate(best)), BayesMatch: report.Num(1),
		})
	}
	return nil
}

// law is the law of the generated world for the experts, advice and fees of the costs; nil if none matches.
func (r *fraudRun) law(a *costs.Actions, s fraudSetting) *world.FraudLaw {
	made := r.c.Data.Generate
	if made == nil || s.TaskLoss.Kind != "weighted" && (s.TaskLoss.Kind != "zero_one" || made.FraudRate != world.FraudRate) {
		return nil
	}
	for _, v := range r.c.Advice {
		same := func(known fraudAdvice) bool { return v.Name == known.Name && v.Through == known.Through }
		if !slices.ContainsFunc(defaultFraud().Advice, same) {
			return nil // in the law, the level of that name opens other groups
		}
	}
	known := world.IdealFraudLaw(made.World)
	names := known.Actions.Names()
	law := &world.FraudLaw{Actions: a, Share: known.Share, Loss: make([][]float64, len(known.Loss))}
	for i := range a.Len() {
		at := slices.Index(names, a.Name(i))
		if at < 0 {
			return nil
		}
		for cell := range known.Loss {
			law.Loss[cell] = append(law.Loss[cell], known.Loss[cell][at])
		}
	}
	return law
}

// bayesMatch is the share of rows, over the seeds of a method, on which it chooses the best pair; nil for other
// methods.
func bayesMatch(learned []replay.Decisions, method string, lambda float64, best []int) *float64 {
	hits, all := 0, 0
	for _, l := range learned {
		if l.Info.Method != method || !methods.Named(method).Serves(l.Info.Lambda, lambda) {
			continue
		}
		for m, i := range l.Action {
			if i == best[m] {
				hits++
			}
		}
		all += len(best)
	}
	if all == 0 {
		return nil
	}
	return report.Num(float64(hits) / float64(all))
}

// cells returns the cell of the planted world for some rows of the table.
func (x *fraudTrial) cells(ctx context.Context, rows []int) (_ []int, err error) {
	t, err := tabular.OpenTable(ctx, storage.File(filepath.Join(x.folder, features.TableFile)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	view := newCellView(t.Encoder())
	width := len(t.Encoder().Columns())
	values := make([]float32, cellBlock*width)
	out := make([]int, 0, len(rows))
	for from := 0; from < t.Len() && len(out) < len(rows); from += cellBlock {
		n := min(cellBlock, t.Len()-from)
		if rows[len(out)] >= from+n {
			continue
		}
		if err := t.Read(ctx, values[:n*width], from, n); err != nil {
			return nil, err
		}
		for len(out) < len(rows) && rows[len(out)] < from+n {
			at := rows[len(out)] - from
			out = append(out, view.cell(values[at*width:(at+1)*width]))
		}
	}
	return out, nil
}

// cellBlock is how many rows of a table are read per block; it is the size of the table's row groups.
const cellBlock = 4096

// cellView finds the four columns of the base view that the cell depends on.
type cellView struct {
	product, card4, card6 levelView
	amount                int
}

// levelView reads the category of one column; at is -1 if the table does not have it.
type levelView struct {
	at     int
	levels []string
}

func newCellView(e *tabular.Encoder) cellView {
	at := func(name string) int {
		return slices.IndexFunc(e.Columns(), func(c tabular.Column) bool { return c.Name == name })
	}
	category := func(name string) levelView {
		v := levelView{at: at(name)}
		if v.at >= 0 {
			v.levels = e.Levels(v.at)
		}
		return v
	}
	return cellView{category("ProductCD"), category("card4"), category("card6"), at("TransactionAmt")}
}

func (v cellView) cell(values []float32) int {
	amount := 0.0
	if v.amount >= 0 {
		amount = float64(values[v.amount])
	}
	return world.FraudCellOf(v.product.of(values), v.card4.of(values), v.card6.of(values), amount)
}

// of is the category in a row; "" if it is missing, pooled or not in the table.
func (v levelView) of(values []float32) string {
	if v.at < 0 || !(values[v.at] >= codeFirst) {
		return ""
	}
	return v.levels[int(values[v.at])-codeFirst]
}

// codeFirst is the code of a column's most frequent category in the values of a table; smaller ones are pools.
const codeFirst = tabular.CodeRare + 1
