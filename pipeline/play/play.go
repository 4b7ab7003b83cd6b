// Package play plays cascades through tables on which it is known what can be seen of the answer of every pair: it executes what
// a cascade chooses, shows it that answer, and asks again until it accepts one. Use it where no expert is called: to decide the
// rows of a table, and to say what a cascade would have cost on it.
package play

import (
	"context"
	"fmt"
	"math"

	"pipe/costs"
	"pipe/models/cascade"
)

// Decider decides what to do next with rows, by what was seen of the answers so far. A *cascade.Decider is one.
type Decider interface {
	Info() *cascade.Info
	Next(ctx context.Context, rows cascade.Rows) (*cascade.Decisions, error)
}

// Path is how a cascade answered one row.
type Path struct {
	Pairs    []int   // the executed pairs, in their order
	Accepted int     // one of Pairs, whose answer was accepted
	Loss     float32 // the expected task loss of the accepted answer
	Cost     float32 // what was expected before the first pair was executed: all fees to come, and the loss
}

// batchCells bounds the values that a batch of rows shows a cascade.
const batchCells = 1 << 22

// Rows plays rows of t through a cascade, whose facts are the columns that columns names (see Columns). An answer of which nothing is
// known is shown as such. A decision that cannot be followed is an error.
func Rows(ctx context.Context, d Decider, t *costs.Tensor, columns []Column, rows []int) ([]Path, error) {
	info := d.Info()
	width := info.Dim + info.Actions.Len()*(len(columns)+1)
	size := max(1, batchCells/width)
	paths := make([]Path, 0, len(rows))
	for len(rows) > 0 {
		part := rows[:min(size, len(rows))]
		played, err := playBatch(ctx, d, t, columns, part)
		if err != nil {
			return nil, err
		}
		paths, rows = append(paths, played...), rows[len(part):]
	}
	return paths, nil
}

// batch is a batch of rows that are being played.
type batch struct {
	info    *cascade.Info
	t       *costs.Tensor
	columns []Column
	rows    []int // of the tensor
	paths   []Path
	exists  []bool // pairs
}

func playBatch(ctx context.Context, d Decider, t *costs.Tensor, columns []Column, rows []int) ([]Path, error) {
	b := &batch{info: d.Info(), t: t, columns: columns, rows: rows, paths: make([]Path, len(rows)), exists: d.Info().Actions.Mask()}
	open := make([]int, len(rows)) // the rows that are not answered yet
	for k := range open {
		open[k] = k
	}
	for len(open) > 0 {
		out, err := d.Next(ctx, b.state(open))
		if err != nil {
			return nil, err
		}
		still := open[:0]
		for k, at := range open {
			accepted, err := b.follow(at, out, k)
			if err != nil {
				return nil, &costs.DataError{Msg: fmt.Sprintf("id %q", t.IDs[rows[at]]), Err: err}
			}
			if !accepted {
				still = append(still, at)
			}
		}
		open = still
	}
	return b.paths, nil
}

// state shows the rows at the given places of the batch: their features, what was executed, and what is known of these answers.
func (b *batch) state(open []int) cascade.Rows {
	pairs, facts := b.info.Actions.Len(), len(b.columns)
	r := cascade.Rows{
		N: len(open), Features: make([]float32, 0, len(open)*b.info.Dim),
		Observed: make([]float32, len(open)*pairs*facts), Executed: make([]bool, len(open)*pairs),
	}
	for i := range r.Observed {
		r.Observed[i] = float32(math.NaN())
	}
	for k, at := range open {
		n := b.rows[at]
		r.Features = append(r.Features, b.t.Row(n)...)
		for _, i := range b.paths[at].Pairs {
			cell := k*pairs + i
			r.Executed[cell] = true
			for f, c := range b.columns {
				r.Observed[cell*facts+f] = c.at(n*pairs + i)
			}
		}
	}
	return r
}

// follow does what was decided for the row at a place of the batch, and reports whether its answer is accepted.
func (b *batch) follow(at int, out *cascade.Decisions, k int) (accepted bool, err error) {
	p, pair := &b.paths[at], int(out.Action[k])
	if pair < 0 || pair >= len(b.exists) || !b.exists[pair] {
		return false, fmt.Errorf("the cascade chooses the pair %d, which does not exist", pair)
	}
	executed := false
	for _, i := range p.Pairs {
		executed = executed || i == pair
	}
	switch {
	case executed != out.Accept[k]:
		return false, fmt.Errorf("the cascade chooses %s, which was executed: %t, and says that it accepts its answer: %t", b.info.Actions.Name(pair), executed, out.Accept[k])
	case executed:
		p.Accepted, p.Loss = pair, out.Loss[k]
		return true, nil
	case len(p.Pairs) == b.info.Stages:
		return false, fmt.Errorf("the cascade goes on after %d pairs, although that is all it may execute", b.info.Stages)
	case len(p.Pairs) == 0:
		p.Cost = out.Remaining[k]
	}
	p.Pairs = append(p.Pairs, pair)
	return false, nil
}
