package cascade

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models/policy"
)

// Stepper decides the next steps on rows, as Decider.NextAt does. A *[Decider] is one.
type Stepper interface {
	Info() *Info
	NextAt(ctx context.Context, at []*policy.Prices, rows Rows) (*Decisions, error)
}

// Played is what a cascade did on rows whose outcomes are known.
type Played struct {
	Order    [][]int     // by row: the pairs that were executed, the first one first
	Fees     [][]float64 // by row: what each of them cost, measured fees included; NaN where a measured fee is not known
	Accepted []int       // by row: the pair whose answer was accepted
	Expected []float32   // by row: the loss that was expected of it
	Planned  []float32   // by row: the cost that was expected before the first pair was executed, all fees and the loss
	Loss     []float64   // by row: its true task loss; NaN where it is not known
	// Guaranteed says by row that the guarantee of the file accepts the answer; nil: the file has none. Where pairs are left out at fixed
	// prices, nothing is: the guarantee is about the choice among all.
	Guaranteed []bool
}

// Cost is the loss of the accepted answer of a row plus all fees that were paid.
func (p *Played) Cost(row int) float64 {
	cost := p.Loss[row]
	for _, fee := range p.Fees[row] {
		cost += fee
	}
	return cost
}

// Play plays a cascade through on rows of a tensor that it matches (see [Info.Matches]): step by step, until every
// row has an accepted answer. What is paid are the fees of at, and measured ones; nil: at are those of the tensor at the lambda of the
// file ([Info.PriceAt]). An any-price file decides at these prices, another one at its own, among the pairs that are available at at. A
// tensor that does not match, and a row that cannot be decided, are a *costs.DataError.
func Play(ctx context.Context, d Stepper, t *costs.Tensor, rows []int, at *policy.Prices) (*Played, error) {
	info := d.Info()
	err := info.Matches(t)
	var seen []float32
	if err == nil {
		seen, err = Observed(info, t, rows)
	}
	if err != nil { // for the user, two files that do not match
		return nil, fmt.Errorf("play cascade: %w", &costs.DataError{Err: err})
	}
	if at == nil {
		at = info.PriceAt(t.Actions, info.Lambda)
	}
	decide := at
	if info.Prices == nil {
		decide = info.Base()
		decide.Available = at.Available
	}
	whole := info.Prices != nil || slices.Equal(decide.Available, info.Actions.Mask())
	out, fees, left := newPlayed(len(rows), info.Guarantee != nil), at.Fees(), make([]int, len(rows))
	for n := range left {
		left[n] = n
	}
	for stage := 0; len(left) > 0; stage++ {
		if stage > info.Stages {
			return nil, fmt.Errorf("play cascade: %w", &costs.DataError{Msg: fmt.Sprintf("id %q has no accepted answer after %d pairs, which is all that may be executed: a damaged file", t.IDs[rows[left[0]]], info.Stages)})
		}
		next, err := d.NextAt(ctx, []*policy.Prices{decide}, out.rows(info, t, rows, left, seen))
		var bad *policy.RowError
		if errors.As(err, &bad) {
			err = &costs.DataError{Msg: fmt.Sprintf("id %q", t.IDs[rows[left[bad.Row]]]), Err: bad.Err}
		}
		if err != nil {
			return nil, fmt.Errorf("play cascade: stage %d: %w", stage+1, err)
		}
		left = out.take(next, t, rows, left, fees, whole)
	}
	return out, nil
}

func newPlayed(rows int, guaranteed bool) *Played {
	p := &Played{
		Order: make([][]int, rows), Fees: make([][]float64, rows), Accepted: make([]int, rows),
		Expected: make([]float32, rows), Planned: make([]float32, rows), Loss: make([]float64, rows),
	}
	if guaranteed {
		p.Guaranteed = make([]bool, rows)
	}
	return p
}

// take takes the next steps on the rows that are left, and returns those without an accepted answer. The guarantee counts where the choice is
// the whole one.
func (p *Played) take(next *Decisions, t *costs.Tensor, rows, left []int, fees []float64, whole bool) (more []int) {
	for at, n := range left {
		action := int(next.Action[at])
		if next.Accept[at] {
			p.Accepted[n], p.Expected[n], p.Loss[n] = action, next.Loss[at], float64(t.Losses(rows[n])[action])
			if p.Guaranteed != nil {
				p.Guaranteed[n] = whole && next.Accepted[at]
			}
			continue
		}
		if len(p.Order[n]) == 0 {
			p.Planned[n] = next.Remaining[at]
		}
		p.Order[n], p.Fees[n] = append(p.Order[n], action), append(p.Fees[n], fees[action]+t.MeasuredFee(rows[n], action))
		more = append(more, n)
	}
	return more
}

// rows are the states of those rows that have no accepted answer yet.
func (p *Played) rows(i *Info, t *costs.Tensor, all, left []int, seen []float32) Rows {
	pairs, columns := i.Actions.Len(), i.Columns()
	r := Rows{N: len(left), Observed: slices.Repeat([]float32{float32(math.NaN())}, len(left)*columns), Executed: make([]bool, len(left)*pairs)}
	for at, n := range left {
		r.Features = append(r.Features, t.Row(all[n])...)
		for _, pair := range p.Order[n] {
			r.Executed[at*pairs+pair] = true
			from, to := pair*len(i.Facts), (pair+1)*len(i.Facts)
			copy(r.Observed[at*columns+from:at*columns+to], seen[n*columns+from:n*columns+to])
		}
	}
	return r
}

// Matches returns nil if the cascade can be played through t: with the same experts and advice in the same order, the same
// unavailable pairs, and features of the same width, source and digest, as policy.Info.Matches has it. Fees may differ.
func (i *Info) Matches(t *costs.Tensor) error {
	return i.once().Matches(t)
}

// Observed has what is seen of all answers on rows of a tensor, as the input of the file: rows x A*F. A value of a
// category that the file does not know comes after its last, so that two answers can agree on it. It is a *[MissingError] if the
// tensor lacks a fact of the file, or has it as another kind.
func Observed(i *Info, t *costs.Tensor, rows []int) ([]float32, error) {
	if err := i.missing(t); err != nil {
		return nil, err
	}
	pairs := t.Actions.Len()
	out := make([]float32, len(rows)*i.Columns())
	for f, fact := range i.Facts {
		own := t.Fact(fact.Name)
		value := valuesOf(own.Fact, fact)
		for n, row := range rows {
			for pair := range pairs {
				out[n*i.Columns()+pair*len(i.Facts)+f] = value(own.Data[row*pairs+pair])
			}
		}
	}
	return out, nil
}

// MissingError says what a table lacks that a cascade looks at.
type MissingError struct {
	Columns []string // that are missing, or have another kind
	All     bool     // the table does not say at all what can be seen of answers
}

// Error names the columns.
func (e *MissingError) Error() string {
	columns := strings.Join(e.Columns, ", ")
	if e.All {
		return "the table does not say what can be seen of answers, and the cascade looks at them: it has no " + columns
	}
	return "the cascade looks at what this table does not have: " + columns
}

// Hint says where the columns come from.
func (e *MissingError) Hint() string {
	return "pipe costs writes such columns for the experts that it runs, and pipe import takes them from a log (docs/cascades.md)"
}

// missing returns a *MissingError if t lacks facts.
func (i *Info) missing(t *costs.Tensor) error {
	e := &MissingError{All: len(t.Facts) == 0}
	for _, fact := range i.Facts {
		kind := "numbers"
		if fact.Category() {
			kind = "categories"
		}
		if own := t.Fact(fact.Name); own == nil || own.Category() != fact.Category() {
			e.Columns = append(e.Columns, fmt.Sprintf("observed_%s (%s)", fact.Name, kind))
		}
	}
	if e.Columns == nil {
		return nil
	}
	return e
}

// valuesOf turns values of one fact into those of another with the same name.
func valuesOf(own, fact costs.Fact) func(float32) float32 {
	if fact.Values == nil {
		return func(v float32) float32 { return v }
	}
	index := make([]float32, len(own.Values))
	for v, text := range own.Values {
		if at, ok := slices.BinarySearch(fact.Values, text); ok {
			index[v] = float32(at)
		} else {
			index[v] = float32(len(fact.Values) + v)
		}
	}
	return func(v float32) float32 {
		if at := int(v); v >= 0 && at < len(index) {
			return index[at]
		}
		return float32(math.NaN())
	}
}
