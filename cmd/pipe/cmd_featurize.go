package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/pipeline/features"
	"pipe/pipeline/sharded"
	"pipe/pipeline/shards"
)

const featurizeText = `Featurize reads raw rows from CSV, joins a second file by id, and writes two files: table.parquet, with one number per
column, and encoder.json, which turns raw rows, now and later, into the features of experts and policies. Categories,
medians and scales are learned from training rows only.

The file --columns says which column is the id, which is the label, and which of the others are disclosed together;
configs/fraud-columns.yaml is an example. By default the split of a row follows from a hash of its id and the seed, so
rows that are added later move no row (docs/splits.md). --split-kind stratified draws exact shares or counts within
every label instead. If the output is complete, the run does nothing.

Several machines can share the rows (docs/scale.md): --shards N --shard I summarises one of N ranges of them, waits for the
summaries of the others, and transforms its rows; --phase does one of both. --gather writes the files that one run writes,
byte for byte. The split must be by hash.

With --text, featurize fits an encoder to the texts of a column instead, and writes it as one ONNX file: TF-IDF of words
and character n-grams, reduced by a truncated SVD. It takes microseconds a text where a language model takes milliseconds,
needs no other file, and is used like any encoder of texts (docs/lexical.md): in pipe import and costs, and by pipe decide
--encoder. --in may be CSV, TSV, JSON, JSON lines or Parquet. Take texts like those to come, but none of the rows that a
policy is to be judged on.`

const featurizeExamples = `  pipe featurize --columns configs/fraud-columns.yaml --in train_transaction.csv --join train_identity.csv --out out/fraud
  pipe featurize --columns configs/fraud-columns.yaml --in rows.csv --split-kind stratified --train-rows 9000 --validation-rows 3000 --out out/fraud --json
  pipe featurize --columns columns.yaml --in rows.csv --out out/fraud --shards 8 --shard next
  pipe featurize --columns columns.yaml --in rows.csv --out out/fraud --shards 8 --shard 3 --phase fit
  pipe featurize --columns columns.yaml --in rows.csv --out out/fraud --gather
  pipe featurize --text question --in questions.csv --out encoder.onnx
  pipe featurize --text prompt --in prompts.jsonl --dim 128 --facts --seed 3 --out encoder.onnx --json`

func featurizeCommand(a *app) *cobra.Command {
	o := features.DefaultOptions()
	var s shardFlags
	var t textFlags
	c := &cobra.Command{
		Use:     "featurize (--columns FILE --in FILE --out DIR | --text COLUMN --in FILE --out FILE)",
		Short:   "Turn raw rows into a table of numbers, or fit an encoder to texts",
		Long:    featurizeText,
		Example: featurizeExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flag("text").Changed {
				return runFeaturizeText(c, a, &t, o)
			}
			if name := firstSet(c, textOnly); name != "" {
				return usage(c, "--%s needs --text", name)
			}
			if s.on() || s.phase != "" {
				return shardFeaturize(c, a, &s, o)
			}
			return runFeaturize(c, a, o)
		},
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Columns, "columns", "YAML file with the column groups")
	cli.LocationVar(f, &o.Primary, "in", "CSV file with a row per instance; with --text, any table")
	cli.LocationVar(f, &o.Joined, "join", "second CSV file, joined by id")
	cli.LocationVarP(f, &o.Out, "out", "o", "folder for table.parquet and encoder.json; with --text, the file of the encoder")
	f.StringVar(&o.Split.Kind, "split-kind", o.Split.Kind, "hash, stratified or random (docs/splits.md)")
	f.Float64Var(&o.Split.Validation, "validation", o.Split.Validation, "share of validation rows; the others are for training")
	f.IntVar(&o.Split.TrainRows, "train-rows", 0, "exact number of training rows, with --validation-rows and --split-kind stratified or random; other rows are left out")
	f.IntVar(&o.Split.ValidationRows, "validation-rows", 0, "exact number of validation rows, see --train-rows")
	f.Uint64Var(&o.Split.Seed, "seed", 0, "seed of the split; with --text, of the start of the decomposition")
	t.add(f)
	s.add(f)
	f.StringVar(&s.phase, "phase", "", "with --shard: only fit, or only transform (default: both, waiting for the summaries of all shards in between)")
	return c
}

// shardFeaturize featurizes shards of the rows.
func shardFeaturize(c *cobra.Command, a *app, s *shardFlags, o features.Options) error {
	needed := []string{"columns", "in", "out"}
	if s.list {
		needed = []string{"out"}
	}
	if err := required(c, needed...); err != nil {
		return err
	}
	if s.phase != "" {
		if s.shard == "" {
			return usage(c, "--phase needs --shard")
		}
		if err := oneOf(c, "phase", s.phase, phaseFit, phaseTransform); err != nil {
			return err
		}
	}
	return s.run(c, a, o.Out, func(n int, options shards.Options) (first, second shards.Stage, err error) {
		return sharded.Featurize(c.Context(), o, n, options, s.shard != "" && s.phase == "", a.Progress())
	})
}

func runFeaturize(c *cobra.Command, a *app, o features.Options) error {
	if err := required(c, "columns", "in", "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	r, err := features.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	a.Say("table in %s", o.Out.Join("table.parquet"))
	return a.Print(r)
}
