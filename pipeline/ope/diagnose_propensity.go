package ope

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// propensitiesOf looks at the probabilities of the rows, which are in the order of their times.
func propensitiesOf(r *rows) *Propensities {
	p := &Propensities{Fits: true}
	for pair := range r.pairs() {
		of := r.propensityOf(pair)
		if of.Executed == 0 && (of.Expected == nil || *of.Expected == 0) {
			continue
		}
		if of.Z != nil {
			p.Worst = max(p.Worst, math.Abs(*of.Z))
		}
		if len(of.Parts) > 0 && slices.Max(of.Parts)-slices.Min(of.Parts) > mostChange {
			p.Changes = true
		}
		p.Pairs = append(p.Pairs, of)
	}
	p.Fits = p.Worst <= mostZ
	if r.timed {
		for part := range timeParts {
			if first := part * r.len() / timeParts; first < r.len() {
				p.Parts = append(p.Parts, costs.TimeText(r.time[first]))
			}
		}
	}
	return p
}

// propensityOf is about one pair.
func (r *rows) propensityOf(pair int) PairPropensity {
	executed, known, sum := 0, 0, 0.0
	off := make([]float64, r.len())
	sums, counts := make([]float64, timeParts), make([]int, timeParts)
	for n := range r.len() {
		if r.executed[n] == pair {
			executed++
		}
		v := r.propensities(n)[pair]
		if math.IsNaN(v) {
			continue
		}
		known, sum = known+1, sum+v
		if off[n] = -v; r.executed[n] == pair {
			off[n]++
		}
		part := n * timeParts / r.len()
		sums[part], counts[part] = sums[part]+v, counts[part]+1
	}
	out := PairPropensity{Pair: r.actions.Name(pair), Executed: float64(executed) / float64(r.len())}
	if known < r.len() {
		return out
	}
	share := sum / float64(known)
	out.Expected = &share
	if spread := math.Sqrt(r.squares(off)); spread > 0 {
		z := (float64(executed) - sum) / spread
		out.Z = &z
	}
	for part, count := range counts {
		if count > 0 && r.timed {
			out.Parts = append(out.Parts, sums[part]/float64(count))
		}
	}
	return out
}

// cover compares the rows that the executed choices stand for with all rows on which the log can have tried the choices. It
// needs the probabilities of executed pairs only, so it also finds wrong ones in logs that have no others. Large weights that were
// not drawn make the sum small and seem certain, so less than all rows is news only if more than a tenth is missing.
func (s *Support) cover(r *rows, choices []int) {
	if s.Effective < decisionlog.LeastEffective {
		return
	}
	executed, off, sum, all, variance := r.tried(), make([]float64, r.len()), 0.0, 0.0, 0.0
	for n, choice := range choices {
		p, v := r.propensities(n)[choice], 1/r.keep[n]
		if r.executed[n] == choice {
			off[n] = v / p
		}
		if p > 0 || math.IsNaN(p) && executed[choice] {
			off[n], all = off[n]-v, all+v
		}
		if p > 0 {
			variance += v * v * (1/p - 1)
		}
		sum += off[n]
	}
	covered := 1 + sum/all
	chance := mostZ*math.Sqrt(max(variance, r.squares(off))) + 1e-6*all
	s.Covered, s.Misfit = &covered, sum > chance || sum < -chance && covered < 1-mostUntried
}

// squares sums the squares of values, over those that were drawn together: the variance of their sum if their means are 0.
func (r *rows) squares(values []float64) (sum float64) {
	together := r.clusters()
	if together == nil {
		for _, v := range values {
			sum += v * v
		}
		return sum
	}
	sums := make([]float64, len(values))
	for n, c := range together {
		sums[c] += values[n]
	}
	for _, v := range sums {
		sum += v * v
	}
	return sum
}

// loggersOf counts the rows of every policy that decided, in the order of their first rows.
func loggersOf(r *rows) (list []Logger) {
	for _, name := range r.loggers {
		if name == "" {
			continue
		}
		at := slices.IndexFunc(list, func(l Logger) bool { return l.Policy == name })
		if at < 0 {
			at, list = len(list), append(list, Logger{Policy: name})
		}
		list[at].Rows++
	}
	return list
}
