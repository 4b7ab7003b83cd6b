package models

import (
	"math/rand/v2"

	"pipe/costs"
)

// auto is one run of the auto recipe. Rows are positions in the training
// subset, 0..n-1.
type auto struct {
	full     *costs.Tensor
	train    *costs.Tensor // training rows only
	std      Standardizer
	problem  *Problem
	lambdas  []float64
	s        AutoSettings
	o        Options
	settings Settings
	stops    []int // epochs at which a run may stop, ascending
	parts    []part
	blocks   []block
	held     []int32 // rows that some part holds: what a search has to score
	at       []int32 // position in held, by row
}

// part is a division of the rows: models are trained on fit and judged on held.
type part struct{ fit, held []int32 }

// block is a set of left-out rows whose decisions are chosen on the others.
type block struct {
	part int
	rows []int32
}

func newAuto(t *costs.Tensor, rows []int, lambdas []float64, s AutoSettings, o Options) *auto {
	a := &auto{full: t, train: t.Subset(rows), lambdas: lambdas, s: s, o: o}
	a.std = FitStandardizer(t.Features, t.Dim, rows)
	a.problem = CostProblem(a.train, nil, a.std)
	n := len(rows)
	a.divide(n)
	a.at = make([]int32, n)
	for i, r := range a.held {
		a.at[r] = int32(i)
	}
	fit := len(a.parts[0].fit)
	a.settings = DefaultSettings()
	a.settings.Workers = s.Workers
	a.settings.Head, a.settings.Schedule = "low_rank", "cosine"
	a.settings.TauWarmup = s.TauWarmup
	a.settings.Batch = 128
	if fit > 5000 {
		a.settings.Batch = 256
	}
	perEpoch := (fit + a.settings.Batch - 1) / a.settings.Batch
	every := max(1, (s.Steps+perEpoch*s.Evaluations/2)/(perEpoch*s.Evaluations))
	a.settings.Epochs = every * s.Evaluations
	for e := every; e <= a.settings.Epochs; e += every {
		a.stops = append(a.stops, e)
	}
	return a
}

// divide cuts the rows into folds, or into one inner split whose held rows
// form the blocks.
func (a *auto) divide(n int) {
	order := allRows(n)
	rng := rand.New(pcg(a.s.Seed, "auto/divide", 0))
	rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	if n <= a.s.CrossFit {
		a.held = order
		for f := range a.s.Folds {
			lo, hi := f*n/a.s.Folds, (f+1)*n/a.s.Folds
			held := order[lo:hi]
			fit := append(append([]int32(nil), order[:lo]...), order[hi:]...)
			a.parts = append(a.parts, part{fit: fit, held: held})
			a.blocks = append(a.blocks, block{part: f, rows: held})
		}
		return
	}
	inner := max(a.s.Folds, int(a.s.Inner*float64(n)))
	held := order[:inner]
	a.held, a.parts = held, []part{{fit: order[inner:], held: held}}
	for b := range a.s.Folds {
		a.blocks = append(a.blocks, block{rows: held[b*inner/a.s.Folds : (b+1)*inner/a.s.Folds]})
	}
}

// settingsOf are the shared settings with a candidate's architecture.
func (a *auto) settingsOf(c Candidate) Settings {
	s := a.settings
	s.Hidden = c.Hidden
	if len(c.Hidden) == 0 {
		s.Head = "linear"
	}
	return s
}

// spec is a model of candidate c for lambda l.
func (a *auto) spec(c Candidate, l int, seed uint64, rows []int32) Spec {
	return Spec{
		Name: "auto", Seed: a.s.Seed + seed, Lambda: a.lambdas[l], LearningRate: c.LearningRate,
		WeightDecay: c.WeightDecay, Dropout: c.Dropout, Tau: c.Tau, Rows: rows,
	}
}
