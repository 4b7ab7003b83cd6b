package regress

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"pipe/models"
	"pipe/models/estimate"
	"pipe/onnx"
)

// Networks are networks with one sigmoid per pair. Losses are first scaled to the range from 0 to 1. The training loss is
// the logarithmic one, whose minimum is the expected loss of every pair, plus the expected cost of the decisions that
// follow from the estimates at a few prices (see [sigmoidLoss]).
type Networks struct {
	Candidates []Architecture // one member each
	Steps      int            // optimiser steps, rounded up to whole epochs
	Seeds      int            // networks that a fit averages; cross-fitting trains one
	Seed       uint64         // of the first
	Workers    int            // single-threaded sessions side by side
	Options    models.Options // runtime, progress in model-steps, and folder of checkpoints
}

// Architecture are the settings of a network.
type Architecture struct {
	Hidden       []int   `json:"hidden" yaml:"hidden"` // none or one layer of ReLU
	Dropout      float64 `json:"dropout" yaml:"dropout"`
	WeightDecay  float64 `json:"weight_decay" yaml:"weight_decay"`
	LearningRate float64 `json:"learning_rate" yaml:"learning_rate"`
}

// Members implements [Family].
func (f Networks) Members() []string {
	out := make([]string, len(f.Candidates))
	for i, c := range f.Candidates {
		out[i] = fmt.Sprintf("network %v, dropout %g, weight decay %g, rate %g", c.Hidden, c.Dropout, c.WeightDecay, c.LearningRate)
	}
	return out
}

// CrossFit implements [Family]: the networks of all folds advance in lockstep.
func (f Networks) CrossFit(ctx context.Context, d *Data, folds []Fold) ([][][]float32, error) {
	var jobs []networkJob
	for m := range f.Candidates {
		for i := range folds {
			jobs = append(jobs, networkJob{m, f.Seed, folds[i].Fit})
		}
	}
	trained, err := f.train(ctx, d, "cross-fit", jobs)
	if err != nil {
		return nil, err
	}
	out := make([][][]float32, len(folds))
	for i, fold := range folds {
		for m := range f.Candidates {
			e, err := f.estimates(ctx, d, trained[m*len(folds)+i], fold.Held)
			if err != nil {
				return nil, err
			}
			out[i] = append(out[i], e)
		}
	}
	return out, nil
}

// Fit implements [Family].
func (f Networks) Fit(ctx context.Context, d *Data, fit []int, weights []float64) ([]estimate.Part, error) {
	var jobs []networkJob
	for m, w := range weights {
		for s := range f.Seeds {
			if w != 0 {
				jobs = append(jobs, networkJob{m, f.Seed + uint64(s), fit})
			}
		}
	}
	if len(jobs) == 0 {
		return nil, nil
	}
	trained, err := f.train(ctx, d, "fit", jobs)
	if err != nil {
		return nil, err
	}
	var parts []estimate.Part
	for i, n := range trained {
		parts = append(parts, estimate.Part{Estimator: n, Weight: weights[jobs[i].member] / float64(f.Seeds)})
	}
	return parts, nil
}

// networkJob is one network to train.
type networkJob struct {
	member int
	seed   uint64
	rows   []int
}

// train trains the jobs, those of one architecture in lockstep, and returns the networks in their order.
func (f Networks) train(ctx context.Context, d *Data, stage string, jobs []networkJob) ([]estimate.Network, error) {
	low, high := d.Range()
	p := d.problem(low, high)
	out := make([]estimate.Network, len(jobs))
	for g, together := range f.groups(jobs) {
		first := f.Candidates[jobs[together[0]].member]
		var specs []models.Spec
		for _, j := range together {
			specs = append(specs, f.spec(jobs[j]))
		}
		o := f.Options
		o.Surrogate = sigmoidLoss{}
		if o.Save.Dir != "" {
			o.Save.Dir = filepath.Join(o.Save.Dir, fmt.Sprintf("%s-%d", stage, g))
		}
		trained, err := models.Train(ctx, p, specs, f.settings(first, len(jobs[together[0]].rows)), o)
		if err != nil {
			return nil, err
		}
		for i, j := range together {
			out[j] = estimate.Network{MLP: trained[i].Network, Low: low, High: high}
		}
	}
	return out, nil
}

// groups are the jobs with the same layers.
func (f Networks) groups(jobs []networkJob) [][]int {
	var out [][]int
	at := map[string]int{}
	for j, job := range jobs {
		key := fmt.Sprint(f.Candidates[job.member].Hidden)
		g, ok := at[key]
		if !ok {
			g = len(out)
			at[key] = g
			out = append(out, nil)
		}
		out[g] = append(out[g], j)
	}
	return out
}

func (f Networks) spec(j networkJob) models.Spec {
	c := f.Candidates[j.member]
	rows := make([]int32, len(j.rows))
	for i, r := range j.rows {
		rows[i] = int32(r)
	}
	return models.Spec{
		Name: "a network of estimates", Seed: j.seed, Lambda: 1, LearningRate: c.LearningRate, WeightDecay: c.WeightDecay,
		Dropout: c.Dropout, Tau: 1, Rows: rows,
	}
}

// networkBatch is the size of a minibatch.
const networkBatch = 128

func (f Networks) settings(c Architecture, rows int) models.Settings {
	s := models.DefaultSettings()
	s.Hidden, s.Head, s.Surrogate = c.Hidden, "low_rank", sigmoidLoss{}.Name()
	if len(c.Hidden) == 0 {
		s.Head = "linear"
	}
	s.Schedule, s.Workers, s.Batch = "cosine", f.Workers, networkBatch
	s.Epochs = f.epochs(rows)
	return s
}

// epochs are Steps, rounded up to whole epochs.
func (f Networks) epochs(rows int) int {
	perEpoch := batches(rows)
	return (f.Steps + perEpoch - 1) / perEpoch
}

func batches(rows int) int { return (rows + networkBatch - 1) / networkBatch }

// ModelSteps is the number of optimiser steps of one network on a number of rows.
func (f Networks) ModelSteps(rows int) int { return batches(rows) * f.epochs(rows) }

// problem has losses and fees in units of the range of losses.
func (d *Data) problem(low, high float64) *models.Problem {
	p := &models.Problem{
		Dim: d.Dim, Features: d.X, Target: make([]float32, len(d.Y)), Mask: d.Mask,
		Experts: len(d.ExpertFees), Advice: len(d.AdviceFees), Beta: slices.Clone(d.ExpertFees), Gamma: slices.Clone(d.AdviceFees),
	}
	if high == low {
		high = low + 1
	}
	for _, w := range d.counts(everyRow(d)) {
		p.Weight = append(p.Weight, float32(w))
	}
	for _, known := range d.Known {
		p.Known = append(p.Known, map[bool]float32{true: 1, false: 0}[known])
	}
	for i, v := range d.Y {
		if d.Mask[i%d.Pairs] && (d.Known == nil || d.Known[i]) {
			p.Target[i] = float32((float64(v) - low) / (high - low))
		}
	}
	for _, fees := range [][]float64{p.Beta, p.Gamma} {
		for i := range fees {
			fees[i] /= high - low
		}
	}
	return p
}

// estimates runs a network on the rows held.
func (f Networks) estimates(ctx context.Context, d *Data, n estimate.Network, held []int) ([]float32, error) {
	if len(held) == 0 {
		return nil, nil
	}
	g := onnx.NewGraph("estimates")
	x := g.Input("x", onnx.Float32, onnx.Dims(int64(len(held)), int64(d.Dim)))
	g.Output("y", n.Graph(g, x, ""))
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		return nil, err
	}
	b, err := m.Marshal()
	if err != nil {
		return nil, err
	}
	s, err := f.Options.Runtime.Session(b, f.Options.Runtime.SessionOptions())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, err := s.Run(ctx, map[string]*onnx.Tensor{"x": onnx.Float32s([]int64{int64(len(held)), int64(d.Dim)}, pick(d.X, d.Dim, held))})
	if err != nil {
		return nil, err
	}
	return out["y"].Float32s(), nil
}
