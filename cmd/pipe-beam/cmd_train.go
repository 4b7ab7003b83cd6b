package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/cmd/pipe-beam/job"
	"pipe/internal/config"
	"pipe/pipeline/train"
)

const trainText = `Train learns the policies of pipe train, each on a worker: for every lambda and seed of a method with fixed settings. Recipe auto
is one shard, because its policies share what they learn. Settings are those of the configuration file, under train:.`

// trainFile is the configuration file, which is that of pipe train.
type trainFile struct {
	Train train.Settings `yaml:"train"`
}

func (f *trainFile) Validate() error { return f.Train.Validate() }

func trainCommand(a *app) *cobra.Command {
	o := job.Train{Options: train.DefaultOptions()}
	c := &cobra.Command{
		Use: "train --in FILE --config FILE --out DIR", Short: "Learn policies from a cost tensor", Long: trainText, Args: noArgs,
		Example: "  pipe-beam train --in s3://data/costs.parquet --config sweep.yaml --out policies --work s3://data/sweep --runner flink --endpoint flink:8099",
		RunE:    func(c *cobra.Command, _ []string) error { return runTrain(c, a, o) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Tensor, "in", "cost tensor: a Parquet file or a folder of parts")
	cli.LocationVar(f, &o.Actions, "actions", "JSON file with the actions of a tensor that does not carry them")
	cli.LocationVar(f, &o.Config, "config", "YAML file with settings under train:")
	cli.LocationVarP(f, &o.Out, "out", "o", "folder for the policies")
	cli.LocationVar(f, &o.Warm, "warm", "recipe auto: an older policy, which is exported where it is shown to be better than the new one")
	f.StringVar(&o.Split, "split", o.Split, "rows for the printed true loss: train, val or test")
	return c
}

func runTrain(c *cobra.Command, a *app, o job.Train) error {
	if err := required(c, "in", "out"); err != nil {
		return err
	}
	if !o.Config.IsZero() {
		file := trainFile{Train: o.Settings}
		if err := config.Load(c.Context(), o.Config, &file); err != nil {
			return err
		}
		o.Settings = file.Train
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	if err := absolute(&o.Tensor, &o.Actions, &o.Config, &o.Out, &o.Warm); err != nil {
		return err
	}
	if err := a.place(c, o.Out); err != nil {
		return err
	}
	o.Runtime, o.Shards = a.runtime, a.shards
	return a.run(c, []string{"train"}, o)
}
