package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/parallel"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// syntheticConfig are the settings of pipe bench synthetic.
type syntheticConfig struct {
	Sizes        []int           `yaml:"sizes"`         // training rows; the table has the last size
	Seeds        int             `yaml:"seeds"`         // of initialisation, order and baselines' draws
	DataSeed     uint64          `yaml:"data_seed"`     // of the instances and their losses, the same for all seeds
	Test         int             `yaml:"test"`          // instances of the independent test split
	LearningRate float64         `yaml:"learning_rate"` // of all three methods
	Tau          float64         `yaml:"tau"`
	Network      models.Settings `yaml:"network"`
	Map          int             `yaml:"map"` // cells along a side of the decision maps
}

// defaultSynthetic is the paper's setting.
func defaultSynthetic() syntheticConfig {
	return syntheticConfig{
		Sizes: []int{250, 500, 1000, 2500, 5000}, Seeds: 5, DataSeed: 1, Test: 20_000,
		LearningRate: 3e-3, Tau: 1, Network: models.DefaultSettings(), Map: 160,
	}
}

// syntheticFile is the configuration file of the benchmark.
type syntheticFile struct {
	Synthetic syntheticConfig `yaml:"synthetic"`
}

func (f *syntheticFile) Validate() error { return f.Synthetic.Validate() }

// Validate reports every problem at once.
func (c *syntheticConfig) Validate() error {
	var errs []error
	if len(c.Sizes) == 0 || slices.Min(c.Sizes) < 1 || !slices.IsSorted(c.Sizes) {
		errs = append(errs, fmt.Errorf("sizes: %v, ascending positive numbers are needed", c.Sizes))
	}
	for _, s := range []struct {
		name  string
		value int
	}{{"seeds", c.Seeds}, {"test", c.Test}, {"map", c.Map}} {
		if s.value < 1 {
			errs = append(errs, fmt.Errorf("%s: %d, at least 1 is needed", s.name, s.value))
		}
	}
	if !(c.LearningRate > 0) {
		errs = append(errs, fmt.Errorf("learning_rate: %g is not positive", c.LearningRate))
	}
	errs = append(errs, models.CheckTau(c.Tau))
	return errors.Join(append(errs, config.Under("network", c.Network.Validate()))...)
}

var syntheticBenchmark = Benchmark{
	Name:  "synthetic",
	About: "known cost tables where the separated surrogate and L2D must fail and the composite policy must not",
	Run:   runSynthetic,
}

// syntheticMethods are the learned methods of the benchmark.
var syntheticMethods = []string{models.Ours, models.Separated, models.L2D}

// syntheticRun is one run of the benchmark.
type syntheticRun struct {
	c       syntheticConfig
	rt      *ort.Runtime
	train   *costs.Tensor // realised
	test    *costs.Tensor // expected losses
	bayes   float64       // risk of the Bayes policy on the test instances
	results []*syntheticResult
}

// syntheticResult is one method at one size, over all seeds.
type syntheticResult struct {
	method   string
	n        int
	policies []*policy.Policy
	learned  []replay.Decisions
	maps     report.DecisionMap
}

func runSynthetic(ctx context.Context, o Options, p stage.Progress) (*report.Report, error) {
	c := defaultSynthetic()
	if o.Config != "" {
		file := syntheticFile{Synthetic: c}
		if err := config.Load(ctx, storage.File(o.Config), &file); err != nil {
			return nil, err
		}
		c = file.Synthetic
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	rt, err := ort.Open(o.Runtime)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	largest := c.Sizes[len(c.Sizes)-1]
	r := &syntheticRun{
		c: c, rt: rt,
		train: world.SyntheticTensor(largest, costs.Train, c.DataSeed, true),
		test:  world.SyntheticTensor(c.Test, costs.Test, c.DataSeed, false),
	}
	rows := r.test.Rows(costs.Test)
	r.bayes = r.test.TrueLoss(rows, r.bayesActions(rows), world.SyntheticLambda)
	if err := r.trainAll(ctx, p); err != nil {
		return nil, err
	}
	report, err := r.report()
	if err != nil {
		return nil, err
	}
	if o.Out != "" {
		err = r.leave(ctx, o.Out)
	}
	return report, err
}

// trainAll trains every method at every size. Each training run is one group of seeds in lockstep, and the runs share
// the workers.
func (r *syntheticRun) trainAll(ctx context.Context, p stage.Progress) error {
	for _, n := range r.c.Sizes {
		for _, m := range syntheticMethods {
			r.results = append(r.results, &syntheticResult{method: m, n: n})
		}
	}
	slices.SortStableFunc(r.results, func(a, b *syntheticResult) int { return b.n - a.n }) // longest first
	total := 0
	for _, s := range r.results {
		total += (s.n + r.c.Network.Batch - 1) / r.c.Network.Batch * r.c.Network.Epochs * r.c.Seeds
	}
	p.Start(int64(total), "train")
	return parallel.First(ctx, r.c.Network.Workers, len(r.results), func(ctx context.Context, i int) error {
		s := r.results[i]
		if err := r.trainOne(ctx, s, p); err != nil {
			return fmt.Errorf("%s at n = %d: %w", s.method, s.n, err)
		}
		return nil
	})
}

func (r *syntheticRun) trainOne(ctx context.Context, s *syntheticResult, p stage.Progress) error {
	rows := make([]int, s.n)
	for i := range rows {
		rows[i] = i
	}
	m, err := models.MethodNamed(s.method)
	if err != nil {
		return err
	}
	c := paper.Settings{Seeds: r.c.Seeds, Tau: r.c.Tau, LearningRate: r.c.LearningRate, L2DRate: r.c.LearningRate, Network: r.c.Network}
	c.Network.Workers = 1
	o := models.Options{Runtime: r.rt, Progress: func(n int) { p.Add(int64(n)) }}
	if s.policies, err = paper.Train(ctx, r.train.Subset(rows), m, []float64{world.SyntheticLambda}, c, o); err != nil {
		return err
	}
	for _, policy := range s.policies {
		l, err := replay.Decide(ctx, r.rt, policy, r.test, r.test.Rows(costs.Test))
		if err != nil {
			return err
		}
		s.learned = append(s.learned, l)
	}
	s.maps, err = r.decisionMap(s.method, s.policies[0])
	return err
}

func (r *syntheticRun) decisionMap(method string, p *policy.Policy) (report.DecisionMap, error) {
	m := report.DecisionMap{Title: method, Size: r.c.Map}
	for row := range m.Size {
		for col := range m.Size {
			x := []float32{float32(report.CellCentre(col, m.Size)), float32(report.CellCentre(row, m.Size))}
			action, err := p.Decide(x)
			if err != nil {
				return m, err
			}
			m.Action = append(m.Action, action)
		}
	}
	return m, nil
}

// leave writes the realised tensor that the demo trains from: the training rows, and as many validation rows.
func (r *syntheticRun) leave(ctx context.Context, dir string) error {
	if _, err := atomicfile.MkdirAll(dir); err != nil {
		return err
	}
	val := world.SyntheticTensor(r.train.Len(), costs.Val, r.c.DataSeed, true)
	t := r.train.Subset(r.train.Rows(costs.Train))
	t.IDs, t.Splits = append(t.IDs, val.IDs...), append(t.Splits, val.Splits...)
	t.Features, t.Loss = append(t.Features, val.Features...), append(t.Loss, val.Loss...)
	return costs.Write(ctx, storage.File(filepath.Join(dir, "costs.parquet")), t)
}
