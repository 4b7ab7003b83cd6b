package bench

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v4"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/config"
	"pipe/models/paper"
	"pipe/pipeline/eval"
	"pipe/pipeline/train"
)

// feverConfig are the settings of pipe bench fever; docs/fever.md describes them. Paths in the settings of parts are
// relative to the folder of the configuration file.
type feverConfig struct {
	Claims    map[string]any      `yaml:"claims"`    // settings of the source kind fever
	Split     feverSplit          `yaml:"split"`     //
	Retrieval map[string]any      `yaml:"retrieval"` // of every advice of kind passages and of every expert of kind embedding
	Encoder   string              `yaml:"encoder"`   // of the policy's features and of every expert of kind embedding
	Advice    []part.AdviceConfig `yaml:"advice"`
	Experts   []part.ExpertConfig `yaml:"experts"`
	Settings  []feverSetting      `yaml:"settings"`
	Shard     int                 `yaml:"shard"`     // instances per shard of the cost builder
	Audit     bool                `yaml:"audit"`     // keep the text of every advice beside the costs
	Observe   part.Observe        `yaml:"observe"`   // facts of answers that the costs have
	KNN       bool                `yaml:"knn"`       // report nearest neighbours
	Resample  int                 `yaml:"resamples"` // of the paired bootstrap, within a split
}

// feverSplit draws validation claims; claims of one group stay together, or without groups those with the same text.
type feverSplit struct {
	Kind       string  `yaml:"kind"`       // see costs.SplitDraw
	Validation float64 `yaml:"validation"` // share of the claims, the others train
	Seed       uint64  `yaml:"seed"`       // of the first draw
	Draws      int     `yaml:"draws"`      // splits that are drawn, with seeds seed, seed+1, ...
}

// feverSetting is a set of experts that is reported separately, with the training of policies over them.
type feverSetting struct {
	Name    string         `yaml:"name"`
	Experts []string       `yaml:"experts"` // names; none: all
	Recipes []string       `yaml:"recipes"` // each learns from the same costs; l2d comes with the first
	Train   train.Settings `yaml:"train"`   // without its recipe
}

// defaultFeverTrain is the paper's recipe and grid of regimes.
func defaultFeverTrain() train.Settings {
	c := train.DefaultSettings()
	c.Recipe, c.Lambdas = paper.Name, []float64{0, 0.5, 1, 2, 4, 6, 8, 10}
	c.LearningRate, c.L2DRate, c.WeightDecay = 1e-3, 5e-3, 1e-4
	c.Network.Hidden, c.Network.Epochs, c.Network.Batch, c.Network.Schedule = []int{128, 64}, 50, 128, "none"
	return c
}

// UnmarshalYAML reads a setting over its defaults.
func (s *feverSetting) UnmarshalYAML(n *yaml.Node) error {
	type plain feverSetting // avoids recursion into this method
	v := plain{Recipes: []string{paper.Name}, Train: defaultFeverTrain()}
	if err := n.Load(&v, yaml.WithKnownFields()); err != nil {
		return err
	}
	*s = feverSetting(v)
	return nil
}

// defaultFever is the paper's benchmark without its data and models: the split, and one setting with all experts.
func defaultFever() feverConfig {
	return feverConfig{
		Split:    feverSplit{Kind: costs.SplitHash, Validation: 0.25, Draws: 1},
		Settings: []feverSetting{{Name: "paper", Recipes: []string{paper.Name}, Train: defaultFeverTrain()}},
		Shard:    256, KNN: true, Resample: 2000,
	}
}

// Validate reports every problem that can be found without opening a file.
func (c *feverConfig) Validate() error {
	var list config.Problems
	list.Check(len(c.Claims) > 0, "claims: no file is given")
	list.Check(c.Encoder != "", "encoder: none is given")
	list.Check(c.Split.Validation > 0 && c.Split.Validation < 1, "split.validation: %g, a share in (0, 1) is needed", c.Split.Validation)
	list.Check(c.Split.Draws > 0, "split.draws: %d, at least 1 is needed", c.Split.Draws)
	list.Check(c.Resample >= 2 && c.Resample <= eval.MostResamples, "resamples: %d, not 2 to %d", c.Resample, eval.MostResamples)
	list.Check(len(c.Settings) > 0, "settings: the list is empty")
	for i, s := range c.Settings {
		list.Add(config.Under(fmt.Sprintf("settings[%d]", i), s.validate(c.Experts)))
		given := slices.ContainsFunc(c.Settings[:i], func(o feverSetting) bool { return o.Name == s.Name })
		list.Check(!given, "settings[%d]: duplicate name %q", i, s.Name)
	}
	b := c.costs(feverSetting{}, 0)
	list.Add(b.Validate(kinds.Builtin()))
	return list.Err()
}

// validate reports every problem of a setting.
func (s feverSetting) validate(experts []part.ExpertConfig) error {
	var list config.Problems
	list.Check(config.IsName(s.Name), "name: %q, only letters, digits and _ are allowed, because it is part of file names", s.Name)
	for i, name := range s.Experts {
		known := slices.ContainsFunc(experts, func(e part.ExpertConfig) bool { return e.Name == name })
		list.Check(known, "experts[%d]: unknown expert %q", i, name)
		list.Check(!slices.Contains(s.Experts[:i], name), "experts[%d]: %q is a duplicate", i, name)
	}
	list.Add(train.CheckRecipes(s.Recipes))
	list.Add(config.Under("train", s.Train.Validate()))
	return list.Err()
}

// costs is the configuration of the costs of a setting on one draw of the split.
func (c *feverConfig) costs(s feverSetting, draw int) part.Config {
	b := part.DefaultConfig()
	b.Instances = part.Part{Kind: "fever", Settings: c.Claims}
	split := map[string]any{"validation": c.Split.Validation, "seed": c.Split.Seed + uint64(draw)}
	if _, grouped := c.Claims["group"]; !grouped {
		split["group"] = "text"
	}
	b.Split = part.Part{Kind: c.Split.Kind, Settings: split}
	b.Labels = []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}
	for _, a := range c.Advice {
		if a.Kind == "passages" {
			a.Settings = over(c.Retrieval, a.Settings)
		}
		b.Advice = append(b.Advice, a)
	}
	for _, e := range c.Experts {
		if len(s.Experts) > 0 && !slices.Contains(s.Experts, e.Name) {
			continue
		}
		if e.Kind == "embedding" {
			e.Settings = over(over(map[string]any{"encoder": c.Encoder}, c.Retrieval), e.Settings)
		}
		b.Experts = append(b.Experts, e)
	}
	b.Features = []part.Part{{Kind: "text", Settings: map[string]any{"encoder": c.Encoder}}}
	b.CrossFit, b.Shard, b.Audit, b.Observe = 0, c.Shard, c.Audit, c.Observe
	return b
}

// over merges settings; given ones override the others.
func over(under, given map[string]any) map[string]any {
	out := maps.Clone(under)
	if out == nil {
		out = map[string]any{}
	}
	maps.Copy(out, given)
	return out
}
