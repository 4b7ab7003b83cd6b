package cascade

import (
	"context"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
)

// Played is what a cascade did on rows whose outcomes are known.
type Played struct {
	Order    [][]int     // by row: the pairs that were executed, the first one first
	Fees     [][]float64 // by row: what each of them cost, measured fees included; NaN where a measured fee is not known
	Accepted []int       // by row: the pair whose answer was accepted
	Expected []float32   // by row: the loss that was expected of it
	Loss     []float64   // by row: its true task loss; NaN where it is not known
}

// Cost is the loss of the accepted answer of a row plus all fees that were paid.
func (p *Played) Cost(row int) float64 {
	cost := p.Loss[row]
	for _, fee := range p.Fees[row] {
		cost += fee
	}
	return cost
}

// Play plays a cascade through on rows of a tensor with the same actions, with all its facts: step by step, until every
// row has an accepted answer. Fees are those of the tensor at lambda. An error of [Observed] or [Decider.Next] ends it.
func Play(ctx context.Context, d *Decider, t *costs.Tensor, rows []int, lambda float64) (*Played, error) {
	if err := t.Actions.SameSet(d.info.Actions); err != nil {
		return nil, fmt.Errorf("play cascade: %w", err)
	}
	if t.Dim != d.info.Dim {
		return nil, fmt.Errorf("play cascade: rows have %d features, it takes %d", t.Dim, d.info.Dim)
	}
	seen, err := Observed(d.info, t, rows)
	if err != nil {
		return nil, fmt.Errorf("play cascade: %w", err)
	}
	out := &Played{
		Order: make([][]int, len(rows)), Fees: make([][]float64, len(rows)), Accepted: make([]int, len(rows)),
		Expected: make([]float32, len(rows)), Loss: make([]float64, len(rows)),
	}
	fees, left := t.Actions.Fees(lambda), make([]int, len(rows))
	for n := range left {
		left[n] = n
	}
	for stage := 0; len(left) > 0; stage++ {
		if stage > t.Actions.Len() {
			return nil, fmt.Errorf("play cascade: %d rows have no accepted answer after every pair: a damaged file", len(left))
		}
		next, err := d.Next(ctx, out.rows(d.info, t, rows, left, seen))
		if err != nil {
			return nil, fmt.Errorf("play cascade: stage %d: %w", stage+1, err)
		}
		var more []int
		for at, n := range left {
			if action := int(next.Action[at]); next.Accept[at] {
				out.Accepted[n], out.Expected[n], out.Loss[n] = action, next.Loss[at], float64(t.Losses(rows[n])[action])
			} else {
				out.Order[n], out.Fees[n] = append(out.Order[n], action), append(out.Fees[n], fees[action]+measured(t, rows[n], action))
				more = append(more, n)
			}
		}
		left = more
	}
	return out, nil
}

// measured is the measured fee of a pair on a row.
func measured(t *costs.Tensor, row, pair int) float64 {
	if t.Fee == nil {
		return 0
	}
	return float64(t.Fee[row*t.Actions.Len()+pair])
}

// rows are the states of those rows that have no accepted answer yet.
func (p *Played) rows(i *Info, t *costs.Tensor, all, left []int, seen []float32) Rows {
	pairs, columns := i.Actions.Len(), i.Columns()
	r := Rows{N: len(left), Executed: make([]bool, len(left)*pairs)}
	for at, n := range left {
		r.Features = append(r.Features, t.Row(all[n])...)
		r.Observed = append(r.Observed, seen[n*columns:(n+1)*columns]...)
		for _, pair := range p.Order[n] {
			r.Executed[at*pairs+pair] = true
		}
	}
	return r
}

// Observed has what is seen of all answers on rows of a tensor, as the input of the file: rows x A*F. A value of a
// category that the file does not know is one past its last. It is an error if the tensor lacks a fact of the file, or has
// it as another kind.
func Observed(i *Info, t *costs.Tensor, rows []int) ([]float32, error) {
	pairs := t.Actions.Len()
	out := make([]float32, len(rows)*i.Columns())
	for f, fact := range i.Facts {
		at := slices.IndexFunc(t.Facts, func(own costs.Facts) bool { return own.Name == fact.Name })
		if at < 0 || (t.Facts[at].Values == nil) != (fact.Values == nil) {
			return nil, fmt.Errorf("the table has no observed %s of the kind that the cascade looks at", fact.Name)
		}
		value := valuesOf(t.Facts[at].Fact, fact)
		for n, row := range rows {
			for pair := range pairs {
				out[n*i.Columns()+pair*len(i.Facts)+f] = value(t.Facts[at].Data[row*pairs+pair])
			}
		}
	}
	return out, nil
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
			index[v] = float32(len(fact.Values))
		}
	}
	return func(v float32) float32 {
		if at := int(v); v >= 0 && at < len(index) {
			return index[at]
		}
		return float32(math.NaN())
	}
}
