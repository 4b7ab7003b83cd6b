package auto

import (
	"math/rand/v2"
	"slices"

	"pipe/costs"
	"pipe/internal/seeded"
	"pipe/models"
	"pipe/models/network"
)

// auto is one run of the recipe. Rows are positions in the training subset, 0..n-1.
type auto struct {
	full     *costs.Tensor
	train    *costs.Tensor // training rows only
	mask     []bool        // available actions
	std      network.Standardizer
	clusters costs.Clusters // of the training rows
	problem  *models.Problem
	lambdas  []float64
	s        Settings
	o        models.Options
	settings models.Settings
	stops    []int  // epochs at which a run may stop, ascending
	parts    []part // none: all rows belong together, so nothing can be held out
	blocks   []block
	held     []int32 // rows that some part holds out, which a search has to score
	at       []int32 // position in held, by row
}

// part is a division of the rows: models are trained on fit and evaluated on held.
type part struct{ fit, held []int32 }

// block is a set of held-out rows whose decisions are chosen on the others.
type block struct {
	part int
	rows []int32
}

func newAuto(t *costs.Tensor, rows []int, lambdas []float64, s Settings, o models.Options) *auto {
	a := &auto{full: t, mask: t.Actions.Mask(), train: t.Subset(rows), clusters: t.Clusters(rows), lambdas: lambdas, s: s, o: o}
	n := len(rows)
	if a.divide(n); a.parts == nil {
		return a
	}
	// Fitted on all training rows, including held-out ones: means and spreads of features contain no information about
	// losses, and the exported policy uses the same.
	a.std = network.FitStandardizer(t.Features, t.Dim, rows)
	a.problem = models.CostProblem(a.train, nil, a.std)
	a.at = make([]int32, n)
	for i, r := range a.held {
		a.at[r] = int32(i)
	}
	fit := len(a.parts[0].fit)
	a.settings = models.DefaultSettings()
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

// divide splits the rows into folds, or into one inner split whose held-out rows form the blocks. Rows that belong
// together always stay together: if a copy of a held-out row were among the training rows, memorising would look like
// learning.
func (a *auto) divide(n int) {
	if a.clusters.Len() < 2 {
		return
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	rng := rand.New(seeded.Source(a.s.Seed, "auto/divide", 0))
	rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	if n <= a.s.CrossFit || !a.divideOnce(order) {
		a.divideFolds(order)
	}
}

// divideFolds makes folds: each is decided by models trained on the others.
func (a *auto) divideFolds(order []int) {
	a.held = int32s(order)
	for f, held := range a.deal(order) {
		in := make([]bool, len(order))
		for _, r := range held {
			in[r] = true
		}
		fit := slices.DeleteFunc(int32s(order), func(r int32) bool { return in[r] })
		a.parts = append(a.parts, part{fit: fit, held: held})
		a.blocks = append(a.blocks, block{part: f, rows: held})
	}
}

// divideOnce holds out one share of the rows. It returns false if too few clusters are small enough to make blocks of
// them.
func (a *auto) divideOnce(order []int) bool {
	want := max(a.s.Folds, int(a.s.Inner*float64(len(order))))
	var fit, held []int
	for i, drawn := range a.clusters.Pick(order).Share(want, want/a.s.Folds) {
		if drawn {
			held = append(held, order[i])
		} else {
			fit = append(fit, order[i])
		}
	}
	if len(held) < want || a.clusters.Pick(held).Len() < a.s.Folds {
		return false
	}
	a.held = int32s(held)
	a.parts = []part{{fit: int32s(fit), held: a.held}}
	for _, rows := range a.deal(held) {
		a.blocks = append(a.blocks, block{rows: rows})
	}
	return true
}

// deal splits rows into folds of whole clusters, in their order.
func (a *auto) deal(rows []int) [][]int32 {
	var out [][]int32
	for i, f := range a.clusters.Pick(rows).Folds(a.s.Folds) {
		for len(out) <= f {
			out = append(out, nil)
		}
		out[f] = append(out[f], int32(rows[i]))
	}
	return out
}

func int32s(rows []int) []int32 {
	out := make([]int32, len(rows))
	for i, r := range rows {
		out[i] = int32(r)
	}
	return out
}

// settingsOf are the shared settings with a candidate's architecture.
func (a *auto) settingsOf(c Candidate) models.Settings {
	s := a.settings
	s.Hidden = c.Hidden
	if len(c.Hidden) == 0 {
		s.Head = "linear"
	}
	return s
}

// spec is a model of candidate c for lambda l.
func (a *auto) spec(c Candidate, l int, seed uint64, rows []int32) models.Spec {
	return models.Spec{
		Name: Name, Seed: a.s.Seed + seed, Lambda: a.lambdas[l], LearningRate: c.LearningRate,
		WeightDecay: c.WeightDecay, Dropout: c.Dropout, Tau: c.Tau, Rows: rows,
	}
}
