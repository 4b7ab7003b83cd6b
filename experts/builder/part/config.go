package part

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"pipe/costs"
	"pipe/costs/observe"
)

// Config describes one build. Durable parts come first; every field that can
// change the result is part of the digest by which a build is resumed.
type Config struct {
	Instances Part           `yaml:"instances" json:"instances"`
	Labels    []string       `yaml:"labels" json:"labels,omitempty"` // all labels there are; empty: whatever the instances have
	Split     Part           `yaml:"split" json:"split"`
	TaskLoss  Part           `yaml:"task_loss" json:"task_loss"`
	Advice    []AdviceConfig `yaml:"advice" json:"advice"` // the first one is the absence of advice
	Experts   []ExpertConfig `yaml:"experts" json:"experts"`
	Features  []Part         `yaml:"features" json:"features"`
	CrossFit  int            `yaml:"cross_fit" json:"cross_fit"` // folds for the cross-fitting of trained experts; 0: they also answer for their own training rows
	FoldSeed  uint64         `yaml:"fold_seed" json:"fold_seed,omitempty"`
	Latency   LatencyConfig  `yaml:"latency" json:"latency,omitzero"`  // time as a fee
	Observe   Observe        `yaml:"observe" json:"observe,omitempty"` // what is kept of answers for policies that look at them
	Audit     bool           `yaml:"audit" json:"audit,omitempty"`     // keep the texts that advice shows, in OUT-advice.jsonl.gz
	Shard     int            `yaml:"shard" json:"shard"`               // instances per shard; a killed build loses at most one shard per worker
	Batch     int            `yaml:"batch" json:"batch"`               // instances in memory per worker
	Workers   int            `yaml:"workers" json:"workers"`           // shards built concurrently; 0: one per core
}

// Part is a component chosen by kind; every other key is a setting of that kind.
type Part struct {
	Kind     string         `yaml:"kind" json:"kind"`
	Settings map[string]any `yaml:",inline" json:"settings,omitempty"`
}

// AdviceConfig is one advice level: its name, its base fee gamma_k and its source.
type AdviceConfig struct {
	Name     string         `yaml:"name" json:"name"`
	Fee      float64        `yaml:"fee" json:"fee"`
	Kind     string         `yaml:"kind" json:"kind"`
	Settings map[string]any `yaml:",inline" json:"settings,omitempty"`
}

// ExpertConfig is one expert: its name, its fee beta_j, the advice it cannot
// take, and what it is.
type ExpertConfig struct {
	Name        string         `yaml:"name" json:"name"`
	Fee         float64        `yaml:"fee" json:"fee"`
	Unavailable []string       `yaml:"unavailable" json:"unavailable,omitempty"`
	Kind        string         `yaml:"kind" json:"kind"`
	Settings    map[string]any `yaml:",inline" json:"settings,omitempty"`
}

// KeyNote explains a key with a wrong type of value: in an earlier version it named a column.
func (ExpertConfig) KeyNote(kind, key string) string {
	if kind == "precomputed" && key == "fee" {
		return "fee is the expert's own fee, a number; measured_fee names the column with what each answer cost"
	}
	return ""
}

// DefaultConfig returns a configuration without instances, advice, experts and
// features: 0-1 loss, a quarter for validation by the hash of the id, five folds for experts
// that are trained, shards of 256.
func DefaultConfig() Config {
	return Config{
		Split:    Part{Kind: costs.SplitHash},
		TaskLoss: Part{Kind: "zero_one"},
		CrossFit: 5,
		Latency:  LatencyConfig{Instances: 16, Repeats: 3},
		Shard:    256,
		Batch:    64,
	}
}

// Validate reports every problem that can be seen without opening a file. kinds are those that the configuration may
// name; nil is none.
func (c *Config) Validate(kinds *Kinds) error {
	if kinds == nil {
		kinds = &Kinds{}
	}
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if c.Instances.Kind == "" {
		add("instances: no kind; known are %s", Known(kinds.Sources))
	}
	if c.Shard <= 0 || c.Batch <= 0 {
		add("shard is %d and batch is %d instances; both must be positive", c.Shard, c.Batch)
	}
	if c.CrossFit < 0 || c.CrossFit == 1 || c.CrossFit > maxFolds {
		add("cross_fit is %d, not 0 (in-sample) or 2 to %d folds", c.CrossFit, maxFolds)
	}
	if c.Workers < 0 {
		add("workers is %d", c.Workers)
	}
	if err := c.Latency.validate(); err != nil {
		add("%w", err)
	}
	if err := observe.CheckNames(c.Observe); err != nil {
		add("observe: %w", err)
	}
	if len(c.Features) == 0 {
		add("features: not set; known kinds are %s", Known(kinds.Features))
	}
	if err := c.Actions().Validate(); err != nil {
		problems = append(problems, err)
	}
	c.checkKinds(kinds, add)
	c.checkAvailability(add)
	return errors.Join(problems...)
}

// checkKinds checks that every named kind exists.
func (c *Config) checkKinds(kinds *Kinds, add func(string, ...any)) {
	check := func(part string, err error) {
		if err != nil {
			add("%s: %w", part, err)
		}
	}
	if c.Instances.Kind != "" {
		check("instances", has(kinds.Sources, c.Instances.Kind))
	}
	check("split", has(kinds.Splits, c.Split.Kind))
	check("task_loss", has(kinds.Losses, c.TaskLoss.Kind))
	for _, a := range c.Advice {
		check(AdviceName(a.Name), has(kinds.Advice, a.Kind))
	}
	for _, e := range c.Experts {
		check(ExpertName(e.Name), has(kinds.Experts, e.Kind))
	}
	for i, f := range c.Features {
		check(fmt.Sprintf("features[%d]", i), has(kinds.Features, f.Kind))
	}
}

func has[T any](kinds map[string]T, kind string) error {
	_, err := Lookup(kinds, kind)
	return err
}

func (c *Config) checkAvailability(add func(string, ...any)) {
	for _, e := range c.Experts {
		for _, name := range e.Unavailable {
			if !slices.ContainsFunc(c.Advice, func(a AdviceConfig) bool { return a.Name == name }) {
				add("expert %q: unavailable: there is no advice %q", e.Name, name)
			}
		}
	}
	some := func(e ExpertConfig) bool {
		return slices.ContainsFunc(c.Advice, func(a AdviceConfig) bool { return !slices.Contains(e.Unavailable, a.Name) })
	}
	if len(c.Experts) > 0 && len(c.Advice) > 0 && !slices.ContainsFunc(c.Experts, some) {
		add("experts: every pair is unavailable: no advice remains")
	}
}

// Actions returns the action set as far as the configuration alone determines it.
func (c *Config) Actions() *costs.Actions {
	a := &costs.Actions{}
	for _, e := range c.Experts {
		a.Experts = append(a.Experts, costs.Expert{Name: e.Name, Fee: e.Fee})
	}
	for _, v := range c.Advice {
		a.Advice = append(a.Advice, costs.Advice{Name: v.Name, Fee: v.Fee})
	}
	return a
}

// WorkerCount is the number of goroutines that a build works with.
func (c *Config) WorkerCount() int {
	if c.Workers > 0 {
		return c.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// LatencyConfig turns the time that an expert takes under an advice into a measured fee.
type LatencyConfig struct {
	FeePerSecond float64 `yaml:"fee_per_second" json:"fee_per_second"` // cost units; 0: nothing is measured
	Instances    int     `yaml:"instances" json:"instances"`           // on which it is measured, spread over all
	Repeats      int     `yaml:"repeats" json:"repeats"`               // of which the median is taken
}

func (c *LatencyConfig) validate() error {
	if c.FeePerSecond == 0 {
		return nil
	}
	if !(c.FeePerSecond > 0 && c.FeePerSecond <= MaxFeePerSecond) || c.Instances < 1 || c.Repeats < 1 {
		return fmt.Errorf("latency: fee_per_second is %v, instances %d, repeats %d; all must be positive, and fee_per_second at most %v", c.FeePerSecond, c.Instances, c.Repeats, float64(MaxFeePerSecond))
	}
	return nil
}

// MaxFeePerSecond limits fees, so that they stay far below the limit of float32.
const MaxFeePerSecond = 1e9
