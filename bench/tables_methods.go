package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/lists"
	"pipe/internal/seeded"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/baseline"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/models/regress"
	"pipe/onnx/ort"
	"pipe/pipeline/methods"
	"pipe/pipeline/replay"
)

// tableMethod decides the held-out rows of a split after learning from its other rows.
type tableMethod struct {
	name  string
	after string // the method whose decisions it needs; "": none
	// settings are what its decisions depend on besides the split; nil: nothing.
	settings func(c *tablesConfig) any
	decide   func(ctx context.Context, x *tableSplit) (*decisions, error)
}

// decisions are what a method does on the held-out rows of a split.
type decisions struct {
	Runs     [][]int  `json:"runs"`               // per seed or draw, an action per held-out row
	Fallback []string `json:"fallback,omitempty"` // pairs that the guard of auto fell back to
	seconds  *float64 // that it took; nil: not known
}

// oracle takes the cheapest pair of every row.
const oracle = "oracle"

// tableBounds are the methods that all others are measured against.
var tableBounds = []string{baseline.BestFixedTrain, oracle}

// tableMethods are the methods of the benchmark in the order in which they run: a new one is an element here, and a
// caption in pipeline/methods.
func tableMethods() []tableMethod {
	return slices.Concat([]tableMethod{
		byRule(baseline.BestFixedTrain),
		byRule(oracle),
		{name: auto.Name, settings: autoSettings, decide: decideByAuto},
		{name: methods.AnyPrice, settings: anyPriceSettings, decide: decideByAnyPrice},
		byJudgement(methods.AutoDefault, nil),
		byJudgement(methods.AutoApart, new(true)),
		{name: methods.Shuffled, after: auto.Name, decide: decideShuffled},
		byRecipe(models.Ours),
		byRecipe(models.L2D),
	}, lists.Each(peers, peer.method), []tableMethod{byTrees})
}

func tableMethodNames() []string {
	return lists.Each(tableMethods(), func(m tableMethod) string { return m.name })
}

// byRule is a baseline that learns nothing but a constant.
func byRule(name string) tableMethod {
	return tableMethod{name: name, decide: func(_ context.Context, x *tableSplit) (*decisions, error) {
		for _, rule := range baseline.All() {
			if rule.Name == name {
				actions, err := rule.Run(baseline.Input{Tensor: x.t, Rows: x.held, Train: x.train, Lambda: x.c.Lambda})
				return &decisions{Runs: [][]int{actions}}, err
			}
		}
		return nil, fmt.Errorf("there is no rule %s", name)
	}}
}

// autoSettings are those of the recipe, without the number of workers, on which no result depends.
func autoSettings(c *tablesConfig) any {
	s := c.Train.Auto
	s.Workers = 0
	return s
}

// auto are the settings of the recipe on this split.
func (x *tableSplit) auto() auto.Settings {
	s := x.c.Train.Auto
	s.Seed, s.Apart = x.seed(), x.table.Apart
	return s
}

func decideByAuto(ctx context.Context, x *tableSplit) (*decisions, error) {
	trained, _, err := auto.Train(ctx, x.t, []float64{x.c.Lambda}, x.auto(), x.training(auto.Name))
	if err != nil {
		return nil, err
	}
	return x.decideBy(ctx, trained)
}

// byJudgement is auto with another word on rows with equal features than the table has: nil lets losses tell.
func byJudgement(name string, apart *bool) tableMethod {
	return tableMethod{name: name, after: auto.Name, settings: autoSettings, decide: func(ctx context.Context, x *tableSplit) (*decisions, error) {
		s := x.auto()
		if a := s.Apart; a == apart || a != nil && apart != nil && *a == *apart {
			return x.decided[auto.Name], nil
		}
		s.Apart = apart
		trained, _, err := auto.Train(ctx, x.t, []float64{x.c.Lambda}, s, x.training(name))
		if err != nil {
			return nil, err
		}
		return x.decideBy(ctx, trained)
	}}
}

// anyPriceSettings are those of the recipe, and the range of prices.
func anyPriceSettings(c *tablesConfig) any { return []any{autoSettings(c), c.Train.Prices} }

// decideByAnyPrice trains a policy for any price, and decides at the price of the benchmark.
func decideByAnyPrice(ctx context.Context, x *tableSplit) (*decisions, error) {
	p, _, err := auto.TrainAnyPrice(ctx, x.t, x.c.Train.Prices, x.auto(), x.training(methods.AnyPrice))
	if err != nil {
		return nil, err
	}
	return x.decideBy(ctx, []*policy.Policy{p.At(x.c.Lambda)})
}

// byRecipe trains a method with the recipe paper, with all of its seeds.
func byRecipe(name string) tableMethod {
	settings := func(c *tablesConfig) any {
		s := c.Train.Paper
		s.Network.Workers = 0
		return s
	}
	return tableMethod{name: name, settings: settings, decide: func(ctx context.Context, x *tableSplit) (*decisions, error) {
		m, err := models.MethodNamed(name)
		if err != nil {
			return nil, err
		}
		s := x.c.Train.Paper
		s.Seed += x.seed()
		trained, err := paper.Train(ctx, x.t, m, []float64{x.c.Lambda}, s, x.training(name))
		if err != nil {
			return nil, err
		}
		return x.decideBy(ctx, trained)
	}}
}

// training are the options of a training run, whose stages are shown as progress.
func (x *tableSplit) training(name string) models.Options {
	return models.Options{
		Runtime: x.rt, Progress: func(n int) { x.progress.Add(int64(n)) },
		Stage: func(stage string, steps int) {
			if stage != name {
				stage = name + " " + stage
			}
			x.progress.Start(int64(steps), x.String()+": "+stage)
		},
	}
}

// decideBy runs every policy as the file that would be deployed.
func (x *tableSplit) decideBy(ctx context.Context, trained []*policy.Policy) (*decisions, error) {
	var d decisions
	for _, p := range trained {
		l, err := replay.Decide(ctx, x.rt, p, x.t, x.held)
		if err != nil {
			return nil, err
		}
		d.Runs = append(d.Runs, l.Action)
		if p.Decoder == policy.DecoderFixed {
			d.Fallback = append(d.Fallback, p.Actions.Name(p.Fixed))
		}
	}
	return &d, nil
}

// shuffles is how often the decisions of a policy are shuffled.
const shuffles = 10

// decideShuffled moves the decisions of auto to other rows at random: its shares of pairs, without what it knows of a
// row.
func decideShuffled(_ context.Context, x *tableSplit) (*decisions, error) {
	var d decisions
	of := x.decided[auto.Name].Runs
	for n := range shuffles {
		run := slices.Clone(of[n%len(of)])
		seeded.Stream(x.seed(), "bench/shuffled", uint64(n)).Shuffle(len(run), func(i, j int) { run[i], run[j] = run[j], run[i] })
		d.Runs = append(d.Runs, run)
	}
	return &d, nil
}

// peer is a simple rival: the mean of some regressors' estimates of what every pair costs, and the cheapest pair.
type peer struct {
	name     string
	families func(rt *ort.Runtime) []regress.Family
}

var peers = []peer{
	{methods.KNN20, neighbours(20)},
	{methods.KNN100, neighbours(100)},
	{methods.KNN200, neighbours(200)},
	{methods.Ridge1000, ridge(1000)},
	{methods.Ridge10000, ridge(10_000)},
	{methods.MeanOfFour, func(rt *ort.Runtime) []regress.Family {
		return []regress.Family{regress.Neighbours{Runtime: rt, K: []int{50, 100}}, regress.Ridge{Penalties: []float64{1000, 10_000}}}
	}},
}

func neighbours(k int) func(*ort.Runtime) []regress.Family {
	return func(rt *ort.Runtime) []regress.Family {
		return []regress.Family{regress.Neighbours{Runtime: rt, K: []int{k}}}
	}
}

func ridge(penalty float64) func(*ort.Runtime) []regress.Family {
	return func(*ort.Runtime) []regress.Family {
		return []regress.Family{regress.Ridge{Penalties: []float64{penalty}}}
	}
}

func (p peer) method() tableMethod {
	return tableMethod{name: p.name, decide: func(ctx context.Context, x *tableSplit) (*decisions, error) {
		return x.decideByMean(ctx, p.families(x.rt)...)
	}}
}

// decideByMean takes the cheapest pair by the mean estimate of all members of the families.
func (x *tableSplit) decideByMean(ctx context.Context, families ...regress.Family) (*decisions, error) {
	d, err := x.data()
	if err != nil {
		return nil, err
	}
	mean, members := make([]float64, len(x.held)*d.Pairs), 0
	for _, f := range families {
		estimates, err := f.CrossFit(ctx, d, []regress.Fold{{Fit: x.train, Held: x.held}})
		if err != nil {
			return nil, err
		}
		for _, e := range estimates[0] {
			members++
			for i, v := range e {
				mean[i] += float64(v)
			}
		}
	}
	for i := range mean {
		mean[i] /= float64(members)
	}
	actions, err := cheapest(x.t.Actions, mean, x.c.Lambda)
	return &decisions{Runs: [][]int{actions}}, err
}

// cheapest adds the fees to estimates of the losses, rows x pairs, and returns the cheapest available pair of every row,
// the first one on ties.
func cheapest(a *costs.Actions, losses []float64, lambda float64) ([]int, error) {
	fees, mask := a.Fees(lambda), a.Mask()
	var actions []int
	for row := range slices.Chunk(losses, a.Len()) {
		best, at := math.Inf(1), -1
		for i, loss := range row {
			if c := loss + fees[i]; mask[i] && c < best {
				best, at = c, i
			}
		}
		if at < 0 {
			return nil, errors.New("the estimates are not finite")
		}
		actions = append(actions, at)
	}
	return actions, nil
}
