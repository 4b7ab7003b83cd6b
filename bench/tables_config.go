package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/internal/config"
	"pipe/internal/lists"
	"pipe/internal/storage"
	"pipe/models/auto"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/pipeline/imports"
)

// tablesConfig is the configuration file of pipe bench tables; docs/report.md describes it.
type tablesConfig struct {
	Tables  []tableConfig `yaml:"tables"`
	Splits  int           `yaml:"splits"`   // drawn for each table, with seeds seed, seed+1, ...
	HeldOut float64       `yaml:"held_out"` // share of the rows
	Seed    uint64        `yaml:"seed"`
	Lambda  float64       `yaml:"lambda"`
	Methods []string      `yaml:"methods"` // none: all
	Train   tablesTrain   `yaml:"train"`
}

// tablesTrain are the settings of the recipes; their seeds are those of the splits.
type tablesTrain struct {
	Auto   auto.Settings     `yaml:"auto"`
	Prices policy.PriceRange `yaml:"prices"`
	Paper  paper.Settings    `yaml:"paper"` // of ours and l2d
}

// tableConfig is one table: a cost tensor, or outcome logs to import.
type tableConfig struct {
	Name   string       `yaml:"name"` // part of file names
	Tensor config.Path  `yaml:"tensor"`
	Import *tableImport `yaml:"import"`
	// Apart says whether rows with the same features are different instances, because the features have few values: only
	// rows of one group then stay on one side of a split. Without it, the losses decide, as in recipe auto.
	Apart *bool `yaml:"apart"`
}

// tableImport is the configuration of an import: the name of its file, or the configuration itself.
type tableImport struct {
	outcome.Config `yaml:",inline"`
	File           config.Path `yaml:"-"` // empty: the configuration is inline
}

// UnmarshalYAML reads a name, or a configuration over its defaults.
func (t *tableImport) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		var name string
		err := n.Load(&name)
		t.File = config.Path(name)
		return err
	}
	t.Config = outcome.DefaultConfig()
	return n.Load(&t.Config, yaml.WithKnownFields())
}

// together says which rows of the table stay on one side of a split, and count as one in intervals.
func (t *tableConfig) together(tensor *costs.Tensor) costs.Clusters {
	rows := make([]int, tensor.Len())
	for n := range rows {
		rows[n] = n
	}
	return tensor.Together(rows, t.Apart)
}

// apart is the setting in words.
func (t *tableConfig) apart() string {
	if t.Apart == nil {
		return "as losses tell"
	}
	return fmt.Sprint(*t.Apart)
}

// load returns the configuration; dir is the folder of the file that has it inline.
func (t *tableImport) load(ctx context.Context, dir string) (outcome.Config, error) {
	if t.File != "" {
		return imports.Load(ctx, t.File.Location())
	}
	cfg := t.Config
	cfg.Features = slices.Clone(cfg.Features)
	imports.Resolve(ctx, &cfg, storage.File(dir))
	return cfg, nil
}

// defaultTables are five splits at lambda 1, with every method.
func defaultTables() tablesConfig {
	return tablesConfig{Splits: 5, HeldOut: 0.25, Lambda: 1, Train: tablesTrain{Auto: auto.DefaultSettings(), Prices: policy.DefaultPriceRange(), Paper: paper.DefaultSettings()}}
}

// mostSplits bounds the decisions in memory.
const mostSplits = 1000

// Validate reports every problem that can be found without opening a file.
func (c *tablesConfig) Validate() error {
	var list config.Problems
	list.Check(len(c.Tables) > 0, "tables: the list is empty")
	for i, t := range c.Tables {
		list.Add(config.Under(fmt.Sprintf("tables[%d]", i), t.validate()))
		given := slices.ContainsFunc(c.Tables[:i], func(o tableConfig) bool { return strings.EqualFold(o.Name, t.Name) })
		list.Check(!given, "tables[%d]: duplicate name %q", i, t.Name)
	}
	list.Check(c.Splits >= 1 && c.Splits <= mostSplits, "splits: %d, not 1 to %d", c.Splits, mostSplits)
	list.Check(c.HeldOut > 0 && c.HeldOut < 1, "held_out: %g, a share in (0, 1) is needed", c.HeldOut)
	list.Check(costs.UsableLambda(c.Lambda), "lambda: %g is not a number from 0 to %g", c.Lambda, costs.MaxLambda)
	for i, name := range c.Methods {
		list.Check(slices.Contains(tableMethodNames(), name), "methods[%d]: %q, known are %s", i, name, strings.Join(tableMethodNames(), ", "))
		list.Check(!slices.Contains(c.Methods[:i], name), "methods[%d]: %q is a duplicate", i, name)
	}
	for _, m := range c.methods() {
		list.Check(m.after == "" || c.runs(m.after), "methods: %s needs the decisions of %s, which is not in the list", m.name, m.after)
	}
	list.Add(config.Under("train.auto", c.Train.Auto.Validate()))
	list.Add(config.Under("train.prices", c.Train.Prices.Check()))
	list.Add(config.Under("train.paper", c.Train.Paper.Validate()))
	return list.Err()
}

func (t *tableConfig) validate() error {
	var list config.Problems
	list.Check(config.IsName(t.Name), "name: %q, only letters, digits and _ are allowed, because it is part of file names", t.Name)
	list.Check(t.Tensor != "" || t.Import != nil, "neither tensor nor import is given")
	list.Check(t.Tensor == "" || t.Import == nil, "tensor and import exclude each other")
	if t.Import != nil && t.Import.File == "" {
		list.Add(config.Under("import", t.Import.Config.Validate()))
	}
	return list.Err()
}

// runs reports whether a method is run. The constant and the oracle always are: the others are measured against them.
func (c *tablesConfig) runs(name string) bool {
	return len(c.Methods) == 0 || slices.Contains(c.Methods, name) || slices.Contains(tableBounds, name)
}

// methods are those that are run, in the order of tableMethods.
func (c *tablesConfig) methods() []tableMethod {
	return lists.Keep(tableMethods(), func(m tableMethod) bool { return c.runs(m.name) })
}

// choose leaves the given tables and methods; none leaves all. An unknown name is an error.
func (c *tablesConfig) choose(tables, methods []string) error {
	var list config.Problems
	for _, name := range tables {
		known := slices.ContainsFunc(c.Tables, func(t tableConfig) bool { return t.Name == name })
		list.Check(known, "tables: there is no table %q; the configuration has %s", name,
			strings.Join(lists.Each(c.Tables, func(t tableConfig) string { return t.Name }), ", "))
	}
	if err := list.Err(); err != nil {
		return err
	}
	if len(tables) > 0 {
		c.Tables = lists.Keep(c.Tables, func(t tableConfig) bool { return slices.Contains(tables, t.Name) })
	}
	if len(methods) > 0 {
		c.Methods = methods
	}
	return c.Validate()
}
