package regress

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"pipe/models"
	"pipe/models/estimate"
	"pipe/models/policy"
	"pipe/onnx"
)

// Networks are networks with one sigmoid per pair, trained with the logarithmic loss, whose minimum is the expected loss.
// Losses are first scaled to the range from 0 to 1.
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
		out[i] = fmt.Sprintf("network %v, dropout %g, weight decay %g", c.Hidden, c.Dropout, c.WeightDecay)
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
	low, high := float64(slices.Min(d.Y)), float64(slices.Max(d.Y))
	p := &models.Problem{Dim: d.Dim, Features: d.X, Experts: d.Pairs, Advice: 1, Target: make([]float32, len(d.Y))}
	if high > low {
		for i, v := range d.Y {
			p.Target[i] = float32((float64(v) - low) / (high - low))
		}
	}
	out := make([]estimate.Network, len(jobs))
	for g, together := range f.groups(jobs) {
		first := f.Candidates[jobs[together[0]].member]
		var specs []models.Spec
		for _, j := range together {
			specs = append(specs, f.spec(jobs[j]))
		}
		o := f.Options
		o.Surrogate = squash{}
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
		Name: "a network of estimates", Seed: j.seed, LearningRate: c.LearningRate, WeightDecay: c.WeightDecay,
		Dropout: c.Dropout, Tau: 1, Rows: rows,
	}
}

// networkBatch is the size of a minibatch.
const networkBatch = 128

func (f Networks) settings(c Architecture, rows int) models.Settings {
	s := models.DefaultSettings()
	s.Hidden, s.Head, s.Surrogate = c.Hidden, "linear", squash{}.Name()
	s.Schedule, s.Workers, s.Batch = "cosine", f.Workers, networkBatch
	perEpoch := (rows + s.Batch - 1) / s.Batch
	s.Epochs = (f.Steps + perEpoch - 1) / perEpoch
	return s
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

// squash is the logarithmic loss of a sigmoid per pair: log(1 + e^s) - y s for the output s and the target y.
type squash struct{}

func (squash) Name() string                             { return "sigmoid" }
func (squash) Outputs(experts, advice int) (int, error) { return experts * advice, nil }
func (squash) Masks() bool                              { return false }
func (squash) Decoder() policy.Decoder                  { return policy.DecoderComposite }

func (squash) Loss(g *onnx.Graph, b models.Batch) *onnx.Value {
	one := g.Scalar(b.Scores.DType(), 1)
	soft := g.Add(g.Relu(b.Scores), g.Log(g.Add(one, g.Exp(g.Neg(g.Abs(b.Scores))))))
	return g.Mul(g.Sub(soft, g.Mul(b.Target, b.Scores)), b.Coef)
}
