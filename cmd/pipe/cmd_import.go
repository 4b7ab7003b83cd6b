package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const importText = `Import makes a cost tensor of existing outcome logs: one row per instance, expert and advice, or one row per instance with
a column per pair (CSV, gzipped CSV, JSONL or Parquet), and a table of features joined by id. The configuration names
the columns, the fees and the split; docs/import.md describes it and begins with a small example.

Without a split column a row's split follows from its id, or its group, and the seed: rows that are appended later move
none. docs/splits.md has the other ways.

A missing outcome is an error unless the configuration says that incomplete instances are to be dropped; what was
dropped is counted.`

const importExamples = `  pipe import --config outcomes.yaml --out costs.parquet
  pipe import --config outcomes.yaml --out costs.parquet --json
  PIPE_DATA=/data pipe import --config configs/import-cifar10.yaml --out out/cifar10.parquet`

func importCommand(a *app) *cobra.Command {
	var config, out string
	c := &cobra.Command{
		Use:     "import --config FILE --out FILE",
		Short:   "Make a cost tensor of a table of outcomes",
		Long:    importText,
		Example: importExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runImport(c, a, config, out) },
	}
	c.Flags().StringVar(&config, "config", "", "YAML file that describes the tables")
	c.Flags().StringVarP(&out, "out", "o", "", "the Parquet file to write")
	return c
}

func runImport(c *cobra.Command, a *app, config, out string) error {
	if err := required(c, "config", "out"); err != nil {
		return err
	}
	a.progress().Start(-1, "import")
	defer a.progress().Done()
	r, err := pipeline.Import(c.Context(), config, out)
	if err != nil {
		return err
	}
	return a.print(r)
}
