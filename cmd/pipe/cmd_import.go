package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/internal/storage"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/imports"
	"pipe/pipeline/sharded"
	"pipe/pipeline/shards"
)

const importText = `Import makes a cost tensor from existing outcome logs: CSV, gzipped CSV, JSONL or Parquet, with one row per instance, expert
and advice, or one row per instance and a column per pair. Features come from a table that is joined by id: numbers,
categories, or texts and images with the encoder that makes their vectors. Fees can come from the tokens, the money or
the time that a log has, and a price file. The configuration names the columns, the fees and the split; docs/import.md
describes it and starts with a small example.

Without a split column, the split of a row follows from a hash of its id, or of its group, and the seed, so rows that are
appended later move no row. docs/splits.md describes the other kinds.

A preset is the configuration of a published table. There are
PRESETS.
--explain prints one, to be saved and edited. A configuration can also begin with one, by the key preset; docs/presets.md
describes them. Pickles are refused, with the command that converts them.

Recorded answers that are not judged yet are graded: by rules, or by a chat model whose replies are kept in the folder
--answers. A run stops before a request that could exceed --budget; the same command continues.

With --log it reads a decision log of pipe serve instead. The instances on which every pair was recorded become a cost
tensor, --partial gets the others, and --dsjson and --obp the decisions in forms of other programs (docs/log.md). With
--texts and --encoder the features are made anew from the texts that the server kept.

A missing outcome is an error, unless the configuration drops incomplete instances, or keeps them with outcomes that are
unknown. The report counts both.

Outcomes that are a folder of files or one Parquet file can be read by several machines (docs/scale.md): --shards N
--shard I pivots some of the files or row groups, and --gather joins features and writes the tensor of one run.`

const importExamples = `  pipe import --config outcomes.yaml --out costs.parquet
  pipe import --config outcomes.yaml --out costs.parquet --json
  pipe import --preset routerbench --in routerbench_0shot.parquet --out costs.parquet
  pipe import --preset sprout --in SPROUT/data --prices prices.yaml --encoder sentence-transformers/all-MiniLM-L6-v2 --out costs.parquet
  pipe import --preset llmrouterbench --explain > llmrouterbench.yaml
  pipe import --config answers.yaml --out costs.parquet --budget 2.50
  pipe import --config new-outcomes.yaml --out costs.parquet --append
  pipe import --log log --out costs.parquet --partial partial.parquet
  pipe import --log log --policy ours --dsjson log.dsjson --obp log.npz
  pipe import --log log --since 2026-01-01 --until 2026-02-01 --dsjson january.dsjson
  pipe import --log log --texts texts --encoder encoder.onnx --partial partial.parquet
  PIPE_DATA=/data pipe import --config configs/import-cifar10.yaml --out out/cifar10.parquet
  pipe import --config outcomes.yaml --out costs.parquet --shards 8 --shard next
  pipe import --config outcomes.yaml --out costs.parquet --gather`

func importCommand(a *app) *cobra.Command {
	var o imports.Options
	var fromLog fromlog.Options
	var texts storage.Location
	var explain bool
	var s shardFlags
	c := &cobra.Command{
		Use:     "import (--config FILE | --preset NAME --in FILE | --log FOLDER) --out FILE",
		Short:   "Make a cost tensor from existing outcome logs",
		Long:    strings.Replace(importText, "PRESETS", strings.Join(imports.PresetNames(), ", "), 1),
		Example: importExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("log") {
				return runImportLog(c, a, fromLog, o.Out, texts, o.Encoder)
			}
			if explain {
				return explainPreset(c, a, o)
			}
			if s.on() {
				return shardImport(c, a, &s, o)
			}
			return runImport(c, a, o)
		},
	}
	cli.LocationVar(c.Flags(), &o.Config, "config", "YAML file with columns, fees and split")
	c.Flags().StringVar(&o.Preset, "preset", "", "instead: the configuration of a published table")
	cli.LocationVar(c.Flags(), &o.In, "in", "the file or folder of outcomes, for a preset or instead of that of --config")
	cli.LocationVar(c.Flags(), &o.Prices, "prices", "a price file, for presets with tokens or instead of that of --config")
	c.Flags().StringVar(&o.Encoder, "encoder", "", "encode the texts instead of taking their length as a feature: folder, .onnx file, or org/name")
	c.Flags().BoolVar(&explain, "explain", false, "print the configuration that --preset stands for, and import nothing")
	cli.LocationVarP(c.Flags(), &o.Out, "out", "o", "the Parquet file to write")
	c.Flags().StringVar(&o.Answers, "answers", "", "folder for answers of chat models that judge (default: answers beside the output)")
	budgetFlag(c.Flags(), &o.Budget)
	c.Flags().BoolVar(&o.Append, "append", false, "add the rows to the tensor at --out, with its features, experts and advice")
	c.Flags().BoolVar(&o.KeepSame, "keep-same", false, "with --append: leave out rows that the tensor has with equal content; other known ids are errors")
	c.Flags().StringVar(&o.Fees, "fees", "", "with --append, where fees differ: old (those of the tensor) or new (those of the configuration, for all rows)")
	logFlags(c.Flags(), &fromLog, &texts)
	s.add(c.Flags())
	c.Flags().BoolVar(&o.NewCategories, "new-categories", false, "with --append: accept and count categories without a feature in the tensor; their features are 0")
	return c
}

// shardImport imports shards of the files of outcomes.
func shardImport(c *cobra.Command, a *app, s *shardFlags, o imports.Options) error {
	if err := checkImport(c, o, s.list); err != nil {
		return err
	}
	o.Runtime = a.runtime
	defer a.Progress().Done()
	return s.run(c, a, o.Out, func(n int, _ shards.Options) (first, second shards.Stage, err error) {
		second, err = sharded.Import(c.Context(), o, n, a.Progress())
		return nil, second, err
	})
}

func explainPreset(c *cobra.Command, a *app, o imports.Options) error {
	if err := required(c, "preset"); err != nil {
		return err
	}
	t, err := imports.ExplainPreset(o)
	if err != nil {
		return err
	}
	return a.Print(t)
}

// checkImport checks the flags of an import, of which only the output counts where it is just listed.
func checkImport(c *cobra.Command, o imports.Options, list bool) error {
	needed := []string{"config", "out"}
	switch {
	case list:
		needed = needed[1:]
	case o.Preset != "":
		needed = []string{"in", "out"}
	}
	if err := required(c, needed...); err != nil {
		return err
	}
	if err := checkAppend(c, o); err != nil {
		return err
	}
	for _, name := range onlyLog {
		if c.Flags().Changed(name) {
			return usage(c, "--%s needs --log", name)
		}
	}
	return nil
}

func runImport(c *cobra.Command, a *app, o imports.Options) error {
	if err := checkImport(c, o, false); err != nil {
		return err
	}
	if slices.Contains([]string{".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".gz"}, o.Config.Ext()) {
		return usage(c, "--config %q is a table: pipe init %s writes its configuration", o.Config, o.Config)
	}
	o.Runtime = a.runtime
	defer a.Progress().Done()
	r, err := imports.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	return a.Print(r)
}

// checkAppend checks the options that only --append has.
func checkAppend(c *cobra.Command, o imports.Options) error {
	if !o.Append && (o.KeepSame || o.Fees != "" || o.NewCategories) {
		return usage(c, "--keep-same, --fees and --new-categories need --append")
	}
	if o.Fees == "" {
		return nil
	}
	return oneOf(c, "fees", o.Fees, imports.OldFees, imports.NewFees)
}
