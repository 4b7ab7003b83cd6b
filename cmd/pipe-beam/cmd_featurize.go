package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/cmd/pipe-beam/job"
	"pipe/pipeline/features"
)

const featurizeText = `Featurize turns raw rows into a table of numbers, as pipe featurize does, in two jobs: in the first a shard summarises its rows, in
the second it writes them with the encoder that is fitted to all summaries. The split of a row is by the hash of its id.`

func featurizeCommand(a *app) *cobra.Command {
	o := job.Featurize{Options: features.DefaultOptions()}
	c := &cobra.Command{
		Use: "featurize --columns FILE --in FILE --out DIR --shards N", Short: "Turn raw rows into a table of numbers", Long: featurizeText, Args: noArgs,
		Example: "  pipe-beam featurize --columns columns.yaml --in s3://data/rows.csv --out table --work s3://data/work --shards 80 --runner flink --endpoint flink:8099",
		RunE:    func(c *cobra.Command, _ []string) error { return runFeaturize(c, a, o) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Columns, "columns", "YAML file with the column groups")
	cli.LocationVar(f, &o.Primary, "in", "CSV file with a row per instance")
	cli.LocationVar(f, &o.Joined, "join", "second CSV file, joined by id")
	cli.LocationVarP(f, &o.Out, "out", "o", "folder for table.parquet and encoder.json")
	f.Float64Var(&o.Split.Validation, "validation", o.Split.Validation, "share of validation rows; the others are for training")
	f.Uint64Var(&o.Split.Seed, "seed", 0, "seed of the split")
	return c
}

func runFeaturize(c *cobra.Command, a *app, o job.Featurize) error {
	if err := required(c, "columns", "in", "out"); err != nil {
		return err
	}
	if err := absolute(&o.Columns, &o.Primary, &o.Joined, &o.Out); err != nil {
		return err
	}
	if err := a.cut(c, o.Out); err != nil {
		return err
	}
	o.Shards, o.Work = a.shards, a.work
	return a.run(c, []string{job.FeaturizeFit, "featurize"}, o)
}
