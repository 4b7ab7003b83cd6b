package cascade

import (
	"math"

	"pipe/costs"
)

// SummaryKey is the key of Policy.Info for a [Summary] in JSON: what the cascade did on rows that training did not see.
const SummaryKey = "validation"

// Summary is what a cascade did on some rows, in figures: which pairs came first, and when it went on.
type Summary struct {
	Split    string      `json:"split"`
	Rows     int         `json:"rows"`
	Lambda   float64     `json:"lambda"`
	TrueLoss float64     `json:"true_loss"` // mean: loss of the accepted answers plus the fees of all executed pairs
	Stages   []float64   `json:"stages"`    // shares of the rows on which 1, 2, ... pairs were executed
	First    []FirstPair `json:"first"`     // pairs that were the first on some row
}

// FirstPair is what followed where a pair was the first one.
type FirstPair struct {
	Pair     string        `json:"pair"`
	Share    float64       `json:"share"`    // of the rows on which it was the first
	Accepted float64       `json:"accepted"` // share of these on which its answer was accepted and no other pair executed
	Next     []NextPair    `json:"next,omitempty"`
	Seen     []SeenNumbers `json:"seen,omitempty"`
}

// NextPair is a pair that was executed second, as a share of the rows of the first one.
type NextPair struct {
	Pair  string  `json:"pair"`
	Share float64 `json:"share"`
}

// SeenNumbers are the means of a number that was seen of the first answer: where it was accepted at once, and where another pair was
// executed. Nil where there is no such row on which it is known.
type SeenNumbers struct {
	Fact     string   `json:"fact"`
	Accepted *float64 `json:"accepted,omitempty"`
	WentOn   *float64 `json:"went_on,omitempty"`
}

// Summarize says what a cascade did on rows of a tensor.
func Summarize(i *Info, t *costs.Tensor, split costs.Split, rows []int, p *Played) Summary {
	s := Summary{Split: split.String(), Rows: len(rows), Lambda: i.Lambda, Stages: make([]float64, i.Stages)}
	of := make([][]int, i.Actions.Len()) // by pair: the rows, as places in rows, on which it was the first
	for n, order := range p.Order {
		s.TrueLoss += p.Cost(n) / float64(len(rows))
		s.Stages[len(order)-1]++
		of[order[0]] = append(of[order[0]], n)
	}
	for n := range s.Stages {
		s.Stages[n] /= float64(len(rows))
	}
	for pair, own := range of {
		if len(own) > 0 {
			s.First = append(s.First, i.first(t, rows, p, pair, own))
		}
	}
	return s
}

// first is what followed on the places own of rows, where pair was the first.
func (i *Info) first(t *costs.Tensor, rows []int, p *Played, pair int, own []int) FirstPair {
	out := FirstPair{Pair: i.Actions.Name(pair), Share: float64(len(own)) / float64(len(rows))}
	next := make([]float64, i.Actions.Len())
	for _, n := range own {
		if len(p.Order[n]) == 1 {
			out.Accepted++
		} else {
			next[p.Order[n][1]]++
		}
	}
	out.Accepted /= float64(len(own))
	for other, count := range next {
		if count > 0 {
			out.Next = append(out.Next, NextPair{i.Actions.Name(other), count / float64(len(own))})
		}
	}
	for _, fact := range i.Facts {
		if fact.Category() {
			continue
		}
		data := t.Fact(fact.Name).Data
		mean := func(wentOn bool) *float64 {
			sum, count := 0.0, 0
			for _, n := range own {
				v := float64(data[rows[n]*i.Actions.Len()+pair])
				if (len(p.Order[n]) > 1) == wentOn && !math.IsNaN(v) {
					sum, count = sum+v, count+1
				}
			}
			if count == 0 {
				return nil
			}
			sum /= float64(count)
			return &sum
		}
		out.Seen = append(out.Seen, SeenNumbers{fact.Name, mean(false), mean(true)})
	}
	return out
}
