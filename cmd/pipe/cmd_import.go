package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const importText = `Import makes a cost tensor from existing outcome logs: CSV, gzipped CSV, JSONL or Parquet, with one row per instance, expert
and advice, or one row per instance and a column per pair. Features come from a table that is joined by id: numbers,
categories, or texts and images with the encoder that makes their vectors. Fees can come from the tokens, the money or
the time that a log has, and a price file. The configuration names the columns, the fees and the split; docs/import.md
describes it and starts with a small example.

Without a split column, the split of a row follows from a hash of its id, or of its group, and the seed, so rows that are
appended later move no row. docs/splits.md describes the other kinds.

A missing outcome is an error, unless the configuration allows incomplete instances to be dropped. The report counts
what was dropped.`

const importExamples = `  pipe import --config outcomes.yaml --out costs.parquet
  pipe import --config outcomes.yaml --out costs.parquet --json
  PIPE_DATA=/data pipe import --config configs/import-cifar10.yaml --out out/cifar10.parquet`

func importCommand(a *app) *cobra.Command {
	var o pipeline.ImportOptions
	c := &cobra.Command{
		Use:     "import --config FILE --out FILE",
		Short:   "Make a cost tensor from existing outcome logs",
		Long:    importText,
		Example: importExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runImport(c, a, o) },
	}
	c.Flags().StringVar(&o.Config, "config", "", "YAML file with columns, fees and split")
	c.Flags().StringVarP(&o.Out, "out", "o", "", "the Parquet file to write")
	return c
}

func runImport(c *cobra.Command, a *app, o pipeline.ImportOptions) error {
	if err := required(c, "config", "out"); err != nil {
		return err
	}
	o.Runtime = a.runtime()
	defer a.progress().Done()
	r, err := pipeline.Import(c.Context(), o, a.progress())
	if err != nil {
		return err
	}
	return a.print(r)
}
