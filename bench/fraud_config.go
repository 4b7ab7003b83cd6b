package bench

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/paper"
	"pipe/pipeline/eval"
	"pipe/pipeline/features"
	"pipe/pipeline/train"
)

// fraudConfig are the settings of pipe bench fraud; docs/fraud.md describes them.
type fraudConfig struct {
	Data     fraudData           `yaml:"data"`
	Columns  config.Path         `yaml:"columns"` // the column groups
	Split    features.Split      `yaml:"split"`
	Advice   []fraudAdvice       `yaml:"advice"`  // nested levels, the first one is the base view and free
	Experts  []part.ExpertConfig `yaml:"experts"` // parts of pipe costs
	Settings []fraudSetting      `yaml:"settings"`
	Shard    int                 `yaml:"shard"`     // instances per shard of the cost builder
	KNN      bool                `yaml:"knn"`       // report nearest neighbours
	Resample int                 `yaml:"resamples"` // of the paired bootstrap, within a split
}

// fraudData names the files of the competition, or what to generate instead.
type fraudData struct {
	Transactions config.Path `yaml:"transactions"`
	Identities   config.Path `yaml:"identities"` // empty: none
	Generate     *fraudMade  `yaml:"generate"`
}

// fraudMade are the settings for generated data in the schema of the competition; see FraudOptions.
type fraudMade struct {
	World     string  `yaml:"world"`
	Rows      int     `yaml:"rows"` // transactions
	Seed      uint64  `yaml:"seed"`
	Columns   int     `yaml:"columns"`    // of the transaction file
	FraudRate float64 `yaml:"fraud_rate"` // share of frauds
}

// UnmarshalYAML reads the settings of the generator over its defaults.
func (m *fraudMade) UnmarshalYAML(n *yaml.Node) error {
	type plain fraudMade // avoids recursion into this method
	d := world.DefaultFraudOptions()
	v := plain{World: d.World, Rows: d.Rows, Seed: d.Seed, Columns: d.Columns, FraudRate: d.FraudRate}
	if err := n.Load(&v, yaml.WithKnownFields()); err != nil {
		return err
	}
	*m = fraudMade(v)
	return nil
}

// options are those of the generator.
func (m *fraudMade) options(out string) world.FraudOptions {
	o := world.DefaultFraudOptions()
	o.World, o.Rows, o.Seed, o.Columns, o.FraudRate, o.Out = m.World, m.Rows, m.Seed, m.Columns, m.FraudRate, storage.File(out)
	return o
}

// fraudAdvice is one level of disclosure: every group of columns up to Through, for the base fee gamma.
type fraudAdvice struct {
	Name    string  `yaml:"name"`
	Fee     float64 `yaml:"fee"`
	Through string  `yaml:"through"`
}

// fraudSetting is one way to compute costs and to learn from them. A benchmark can report several.
type fraudSetting struct {
	Name     string         `yaml:"name"`
	CrossFit int            `yaml:"cross_fit"` // folds; 0: training rows are answered by experts that were trained on them
	TaskLoss part.Part      `yaml:"task_loss"`
	Train    train.Settings `yaml:"train"`
}

// defaultFraudTrain is the paper's recipe and grid of regimes.
func defaultFraudTrain() train.Settings {
	c := train.DefaultSettings()
	c.Recipe, c.Lambdas, c.WeightDecay = paper.Name, []float64{0, 0.04, 0.12, 0.20, 5}, 0
	c.Network.Hidden, c.Network.Epochs, c.Network.Batch = []int{64}, 30, 512
	return c
}

// UnmarshalYAML reads a setting over its defaults.
func (s *fraudSetting) UnmarshalYAML(n *yaml.Node) error {
	type plain fraudSetting // avoids recursion into this method
	v := plain{TaskLoss: part.Part{Kind: "zero_one"}, Train: defaultFraudTrain()}
	if err := n.Load(&v, yaml.WithKnownFields()); err != nil {
		return err
	}
	*s = fraudSetting(v)
	return nil
}

// defaultFraud is the paper's benchmark without its data: three experts, five levels of disclosure and one split;
// in-sample 0-1 costs with the recipe paper, and cross-fitted class-balanced costs with the recipe auto.
func defaultFraud() fraudConfig {
	own := defaultFraudTrain()
	own.Recipe = auto.Name
	return fraudConfig{
		Split: features.DefaultSplit(),
		Advice: []fraudAdvice{
			{"none", 0, "base"},
			{"contact", 0.08, "contact"},
			{"payment", 0.12, "payment"},
			{"device", 0.16, "device"},
			{"identity", 0.20, "identity"},
		},
		Experts: []part.ExpertConfig{
			{Name: "linear", Fee: 0.02, Kind: "logistic"},
			{Name: "tree", Fee: 0.06, Kind: boostedTrees},
			{Name: "mlp", Fee: 0.09, Kind: "mlp"},
		},
		Settings: []fraudSetting{
			{Name: "paper", TaskLoss: part.Part{Kind: "zero_one"}, Train: defaultFraudTrain()},
			{Name: "own", CrossFit: 5, TaskLoss: part.Part{Kind: "weighted", Settings: map[string]any{"by": "class"}}, Train: own},
		},
		Shard: 4096, KNN: true, Resample: 2000,
	}
}

// boostedTrees is the kind of expert that needs LightGBM.
const boostedTrees = "boosted_trees"

// Validate reports every problem that can be found without opening a file.
func (c *fraudConfig) Validate() error {
	var list config.Problems
	c.checkData(&list)
	c.Split.Check(list.Check)
	for i, a := range c.Advice {
		list.Check(a.Through != "", "advice[%d]: %q opens no groups; through names the last one", i, a.Name)
	}
	list.Check(len(c.Settings) > 0, "settings: the list is empty")
	for i, s := range c.Settings {
		list.Add(config.Under(fmt.Sprintf("settings[%d]", i), s.validate()))
		given := slices.ContainsFunc(c.Settings[:i], func(o fraudSetting) bool { return o.Name == s.Name })
		list.Check(!given, "settings[%d]: duplicate name %q", i, s.Name)
	}
	list.Check(c.Resample >= 2 && c.Resample <= eval.MostResamples, "resamples: %d, not 2 to %d", c.Resample, eval.MostResamples)
	c.checkCosts(&list)
	return list.Err()
}

// checkCosts adds the problems of the costs of every setting; a problem that all settings share is reported once.
func (c *fraudConfig) checkCosts(list *config.Problems) {
	said := map[string]bool{}
	for _, s := range c.Settings {
		b := c.costs(s)
		for _, line := range config.Lines(b.Validate(kinds.Builtin())) {
			list.Check(said[line], "%s", line)
			said[line] = true
		}
	}
}

func (c *fraudConfig) checkData(list *config.Problems) {
	files, made := c.Data.Transactions != "" || c.Data.Identities != "", c.Data.Generate != nil
	list.Check(files || made, "data: neither transactions nor generate is given")
	list.Check(!files || !made, "data: files and generate exclude each other")
	list.Check(!files || c.Data.Transactions != "", "data: identities are given without transactions")
	list.Check(c.Columns != "", "columns: no file with the column groups is given")
	if made {
		o := c.Data.Generate.options("data")
		list.Add(config.Under("data.generate", o.Validate()))
	}
}

// validate reports every problem of a setting.
func (s fraudSetting) validate() error {
	var list config.Problems
	list.Check(config.IsName(s.Name), "name: %q, only letters, digits and _ are allowed, because it is part of file names", s.Name)
	list.Add(config.Under("train", s.Train.Validate()))
	return list.Err()
}

// costs is the configuration of the costs of a setting, except for the table.
func (c *fraudConfig) costs(s fraudSetting) part.Config {
	b := part.DefaultConfig()
	b.Instances, b.Split, b.TaskLoss = part.Part{Kind: "tabular"}, part.Part{Kind: "column"}, s.TaskLoss
	for _, a := range c.Advice {
		b.Advice = append(b.Advice, part.AdviceConfig{Name: a.Name, Fee: a.Fee, Kind: "groups", Settings: map[string]any{"through": a.Through}})
	}
	b.Experts, b.CrossFit = c.Experts, s.CrossFit
	b.Features = []part.Part{{Kind: "groups"}}
	b.Shard, b.Batch = c.Shard, min(c.Shard, fraudBatch)
	return b
}

// actions is the action set as far as the configuration determines it.
func (c *fraudConfig) actions() *costs.Actions {
	a := &costs.Actions{}
	for _, e := range c.Experts {
		a.Experts = append(a.Experts, costs.Expert{Name: e.Name, Fee: e.Fee})
	}
	for _, v := range c.Advice {
		a.Advice = append(a.Advice, costs.Advice{Name: v.Name, Fee: v.Fee})
	}
	return a
}

// learnedMethod is the method that a setting's recipe trains beside l2d.
func (s fraudSetting) learnedMethod() string {
	if s.Train.Recipe == auto.Name {
		return auto.Name
	}
	return models.Ours
}
