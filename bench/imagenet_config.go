package bench

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/config"
	"pipe/models/paper"
	"pipe/pipeline/eval"
	"pipe/pipeline/train"
)

// imagenetConfig are the settings of pipe bench imagenet, in a section beside those of the costs; docs/imagenet.md
// describes them.
type imagenetConfig struct {
	Title    string         `yaml:"title"`
	StandIn  string         `yaml:"stand_in"` // what replaces the real models or data; the report begins with it
	Draws    int            `yaml:"draws"`    // splits that are drawn, with seeds seed, seed+1, ... of the split of the costs
	Recipes  []string       `yaml:"recipes"`  // each learns from the same costs; l2d comes with the first
	Train    train.Settings `yaml:"train"`    // without its recipe
	KNN      bool           `yaml:"knn"`      // report nearest neighbours
	Resample int            `yaml:"resamples"`
	Pictures pictureConfig  `yaml:"pictures"`
}

// pictureConfig says which pictures a report shows.
type pictureConfig struct {
	PerPair int       `yaml:"per_pair" json:"per_pair"` // most pictures per pair; 0: no pictures
	Side    int       `yaml:"side" json:"side"`         // of a picture, in pixels
	Lambdas []float64 `yaml:"lambdas" json:"lambdas"`   // none: the lowest and the middle one of the trained regimes
}

// mostSide limits pictures to a size that keeps a report small enough to view.
const mostSide = 96

// defaultImagenetTrain is the paper's recipe and grid of regimes.
func defaultImagenetTrain() train.Settings {
	c := train.DefaultSettings()
	c.Recipe, c.Lambdas = paper.Name, []float64{0, 0.1, 0.15, 0.3, 0.4, 0.6, 0.7, 0.8, 1, 1.5, 10}
	c.LearningRate, c.L2DRate, c.WeightDecay = 1e-3, 1e-2, 1e-3
	c.Network.Hidden, c.Network.Epochs, c.Network.Batch, c.Network.Schedule = []int{512, 256}, 400, 256, "cosine"
	return c
}

// defaultImagenet is the paper's recipe on one split, with a few pictures.
func defaultImagenet() imagenetConfig {
	return imagenetConfig{
		Title: "Images: which network classifies, and what it is shown", Draws: 1, Recipes: []string{paper.Name}, Train: defaultImagenetTrain(),
		KNN: true, Resample: 2000, Pictures: pictureConfig{PerPair: 6, Side: mostSide},
	}
}

// imagenetConfigFile is the configuration file of the benchmark, which is also one of pipe costs.
type imagenetConfigFile struct {
	Costs    part.Config    `yaml:"costs"`
	Imagenet imagenetConfig `yaml:"imagenet"`
}

// Validate reports every problem that can be found without opening a file.
func (f *imagenetConfigFile) Validate() error {
	var list config.Problems
	list.Add(f.Costs.Validate(kinds.Builtin()))
	list.Add(config.Under("imagenet", f.Imagenet.Validate()))
	if _, err := splitOfDraw(f.Costs.Split, f.Imagenet.Draws-1); err != nil {
		list.Add(fmt.Errorf("imagenet.draws: %w", err))
	}
	return list.Err()
}

// Validate reports every problem at once.
func (c *imagenetConfig) Validate() error {
	var list config.Problems
	list.Check(c.Draws > 0, "draws: %d, at least 1 is needed", c.Draws)
	list.Check(c.Resample >= 2 && c.Resample <= eval.MostResamples, "resamples: %d, not 2 to %d", c.Resample, eval.MostResamples)
	list.Add(train.CheckRecipes(c.Recipes))
	list.Add(config.Under("train", c.Train.Validate()))
	list.Add(config.Under("pictures", c.Pictures.validate(c.Train.Lambdas)))
	return list.Err()
}

func (c *pictureConfig) validate(trained []float64) error {
	var list config.Problems
	list.Check(c.PerPair >= 0, "per_pair: %d is negative", c.PerPair)
	list.Check(c.Side > 0 && c.Side <= mostSide, "side: %d pixels, not 1 to %d", c.Side, mostSide)
	for _, l := range c.Lambdas {
		list.Check(slices.Contains(trained, l), "lambdas: %g is not one of the trained regimes", l)
	}
	return list.Err()
}

// lambdas are the regimes whose pictures are shown.
func (c *pictureConfig) lambdas(trained []float64) []float64 {
	if c.Lambdas != nil {
		return c.Lambdas
	}
	grid := slices.Sorted(slices.Values(trained))
	return slices.Compact([]float64{grid[0], grid[len(grid)/2]})
}

// splitOfDraw is a split with the seed of one of several draws. Only splits that are drawn can have more than one.
func splitOfDraw(p part.Part, draw int) (part.Part, error) {
	if draw <= 0 {
		return p, nil
	}
	if p.Kind == "column" {
		return p, fmt.Errorf("a split of kind %q is not drawn, so there is only one", p.Kind)
	}
	seed := 0
	if v, given := p.Settings["seed"]; given {
		var ok bool
		if seed, ok = v.(int); !ok || seed < 0 || seed > math.MaxInt-draw {
			return p, fmt.Errorf("the split's seed is %v, not a whole number from 0", v)
		}
	}
	p.Settings = maps.Clone(p.Settings)
	if p.Settings == nil {
		p.Settings = map[string]any{}
	}
	p.Settings["seed"] = seed + draw
	return p, nil
}
