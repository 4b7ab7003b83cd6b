package decide

import (
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/models/policy"
)

// decisionRow is one row of a Parquet file of decisions.
type decisionRow struct {
	ID          string `parquet:"id,plain"`
	Action      int32  `parquet:"action"`
	Expert      string `parquet:"expert,dict"`
	Advice      string `parquet:"advice,dict"`
	ExpertIndex int32  `parquet:"expert_index"`
	AdviceIndex int32  `parquet:"advice_index"`
}

// scoredRow also has the scores, in the order of the actions.
type scoredRow struct {
	decisionRow
	Scores []float32 `parquet:"scores,list"`
}

// expected are the estimates of the chosen pair.
type expected struct {
	Loss float32 `parquet:"expected_loss"`
	Cost float32 `parquet:"expected_cost"`
}

// estimatedRow is a decision of a policy by estimates.
type estimatedRow struct {
	decisionRow
	expected
}

// estimatedScoredRow also has scores and estimates of every pair. The estimates are NaN if the pair does not exist.
type estimatedScoredRow struct {
	decisionRow
	expected
	Scores []float32 `parquet:"scores,list"`
	Losses []float32 `parquet:"expected_losses,list"`
	Costs  []float32 `parquet:"expected_costs,list"`
}

// acceptance is the column of a policy with a guarantee.
type acceptance struct {
	Accepted bool `parquet:"accepted"`
}

// The same rows of a policy with a guarantee.
type (
	acceptedRow struct {
		decisionRow
		acceptance
	}
	acceptedScoredRow struct {
		scoredRow
		acceptance
	}
	acceptedEstimatedRow struct {
		estimatedRow
		acceptance
	}
	acceptedEstimatedScoredRow struct {
		estimatedScoredRow
		acceptance
	}
)

// parquetRows is the writer of a parquetSink for one kind of row.
type parquetRows interface {
	write(ids []string, d *policy.Decisions) error
	close() error
}

// parquetSink writes decisions as row groups of flat columns, with the actions in the metadata.
type parquetSink struct {
	out  output
	rows parquetRows
}

func newParquetSink(out output, c columns) *parquetSink {
	a := c.actions
	templates := make([]decisionRow, a.Len())
	for i := range templates {
		j, k := a.Pair(i)
		templates[i] = decisionRow{
			Action: int32(i), Expert: a.Experts[j].Name, Advice: a.Advice[k].Name, ExpertIndex: int32(j), AdviceIndex: int32(k),
		}
	}
	decided := func(dst *decisionRow, id string, d *policy.Decisions, n int) {
		*dst = templates[d.Action[n]]
		dst.ID = id
	}
	estimated := func(dst *expected, d *policy.Decisions, n int) {
		i := n*d.Actions + int(d.Action[n])
		*dst = expected{d.Loss[i], d.Cost[i]}
	}
	row := func(values []float32, d *policy.Decisions, n int) []float32 {
		return values[n*d.Actions : (n+1)*d.Actions]
	}
	scored := func(dst *scoredRow, id string, d *policy.Decisions, n int) {
		decided(&dst.decisionRow, id, d, n)
		dst.Scores = row(d.Scores, d, n)
	}
	estimatedOnly := func(dst *estimatedRow, id string, d *policy.Decisions, n int) {
		decided(&dst.decisionRow, id, d, n)
		estimated(&dst.expected, d, n)
	}
	both := func(dst *estimatedScoredRow, id string, d *policy.Decisions, n int) {
		decided(&dst.decisionRow, id, d, n)
		estimated(&dst.expected, d, n)
		dst.Scores, dst.Losses, dst.Costs = row(d.Scores, d, n), orNaN(row(d.Loss, d, n)), orNaN(row(d.Cost, d, n))
	}
	var rows parquetRows
	switch {
	case c.accepted && c.scores && c.estimates:
		rows = newRowWriter(out, a, func(dst *acceptedEstimatedScoredRow, id string, d *policy.Decisions, n int) {
			both(&dst.estimatedScoredRow, id, d, n)
			dst.Accepted = d.Accepted[n]
		})
	case c.accepted && c.scores:
		rows = newRowWriter(out, a, func(dst *acceptedScoredRow, id string, d *policy.Decisions, n int) {
			scored(&dst.scoredRow, id, d, n)
			dst.Accepted = d.Accepted[n]
		})
	case c.accepted && c.estimates:
		rows = newRowWriter(out, a, func(dst *acceptedEstimatedRow, id string, d *policy.Decisions, n int) {
			estimatedOnly(&dst.estimatedRow, id, d, n)
			dst.Accepted = d.Accepted[n]
		})
	case c.accepted:
		rows = newRowWriter(out, a, func(dst *acceptedRow, id string, d *policy.Decisions, n int) {
			decided(&dst.decisionRow, id, d, n)
			dst.Accepted = d.Accepted[n]
		})
	case c.scores && c.estimates:
		rows = newRowWriter(out, a, both)
	case c.scores:
		rows = newRowWriter(out, a, scored)
	case c.estimates:
		rows = newRowWriter(out, a, estimatedOnly)
	default:
		rows = newRowWriter(out, a, decided)
	}
	return &parquetSink{out, rows}
}

// orNaN has NaN where values have no estimate.
func orNaN(values []float32) []float32 {
	values = slices.Clone(values)
	for i, v := range values {
		if !exists(v) {
			values[i] = float32(math.NaN())
		}
	}
	return values
}

func (s *parquetSink) write(ids []string, d *policy.Decisions) error {
	if err := s.rows.write(ids, d); err != nil {
		return fmt.Errorf("write decisions: %w", err)
	}
	return nil
}

func (s *parquetSink) commit() error {
	if err := s.rows.close(); err != nil {
		s.abort()
		return fmt.Errorf("write decisions: %w", err)
	}
	return s.out.Commit()
}

func (s *parquetSink) abort() { s.out.Abort() }

// decisionGroup is the number of rows per row group, which the writer holds in memory.
const decisionGroup = 1 << 17

type rowWriter[R any] struct {
	w    *parquet.GenericWriter[R]
	fill func(dst *R, id string, d *policy.Decisions, n int)
	rows []R
}

func newRowWriter[R any](out output, a *costs.Actions, fill func(*R, string, *policy.Decisions, int)) *rowWriter[R] {
	w := parquet.NewGenericWriter[R](out, parquet.CreatedBy("pipe", "1", "0"), parquet.MaxRowsPerRowGroup(decisionGroup),
		parquet.DataPageStatistics(false), parquet.KeyValueMetadata(costs.ActionsKey, string(a.JSON())))
	return &rowWriter[R]{w: w, fill: fill}
}

func (r *rowWriter[R]) write(ids []string, d *policy.Decisions) error {
	if cap(r.rows) < len(ids) {
		r.rows = make([]R, len(ids))
	}
	r.rows = r.rows[:len(ids)]
	for n, id := range ids {
		r.fill(&r.rows[n], id, d, n)
	}
	_, err := r.w.Write(r.rows)
	return err
}

func (r *rowWriter[R]) close() error { return r.w.Close() }
