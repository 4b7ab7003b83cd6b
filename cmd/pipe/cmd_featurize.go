package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const featurizeText = `Featurize reads a table from CSV, joins a second file by id, and makes numbers of it: table.parquet with one number per
column, and encoder.json, which turns those, and any raw row later, into what experts and policies see. Categories,
medians and scales are learnt from training rows only.

The column groups say which column identifies a row, which one is the label, and which others are disclosed together;
configs/fraud-columns.yaml is an example. A row trains or validates by the hash of its id and the seed: rows that are added
later move none (docs/splits.md). --split-kind stratified holds the shares, or exact counts of rows, within every label instead.
A run that finds its files complete does nothing.`

const featurizeExamples = `  pipe featurize --columns configs/fraud-columns.yaml --in train_transaction.csv --join train_identity.csv --out out/fraud
  pipe featurize --columns configs/fraud-columns.yaml --in rows.csv --split-kind stratified --train-rows 9000 --validation-rows 3000 --out out/fraud --json`

func featurizeCommand(a *app) *cobra.Command {
	o := pipeline.DefaultFeaturizeOptions()
	c := &cobra.Command{
		Use:     "featurize --columns FILE --in FILE --out DIR",
		Short:   "Make a table of numbers of raw rows",
		Long:    featurizeText,
		Example: featurizeExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runFeaturize(c, a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.Columns, "columns", "", "the column groups (YAML)")
	f.StringVar(&o.Primary, "in", "", "CSV file, a row per instance")
	f.StringVar(&o.Joined, "join", "", "CSV file whose columns join the rows with the same id")
	f.StringVarP(&o.Out, "out", "o", "", "folder for table.parquet and encoder.json")
	f.StringVar(&o.Split.Kind, "split-kind", o.Split.Kind, "how rows are drawn: hash, stratified or random (docs/splits.md)")
	f.Float64Var(&o.Split.Validation, "validation", o.Split.Validation, "share of the rows for validation; the others train")
	f.IntVar(&o.Split.TrainRows, "train-rows", 0, "with --validation-rows and --split-kind stratified or random: exact counts; further rows are left out")
	f.IntVar(&o.Split.ValidationRows, "validation-rows", 0, "see --train-rows")
	f.Uint64Var(&o.Split.Seed, "seed", 0, "of the draw")
	return c
}

func runFeaturize(c *cobra.Command, a *app, o pipeline.FeaturizeOptions) error {
	if err := required(c, "columns", "in", "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	r, err := pipeline.Featurize(c.Context(), o, a.progress())
	if err != nil {
		return err
	}
	a.say("table in %s", filepath.Join(o.Out, "table.parquet"))
	return a.print(r)
}
