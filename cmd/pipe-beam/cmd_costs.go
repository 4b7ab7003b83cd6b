package main

import (
	"errors"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/cmd/pipe-beam/job"
	"pipe/internal/textfile"
	"pipe/pipeline/costing"
	"pipe/pipeline/sharded"
)

const costsText = `Costs runs every expert under every advice on every instance of the configuration, as pipe costs does. Answers of chat models are
kept in the work folder, so none is paid for twice, and --budget bounds what all workers spend together.

The limits of a service (requests_per_second and others in the configuration) are divided by --workers: the largest number of
worker processes that run at once.`

func costsCommand(a *app) *cobra.Command {
	var o job.Costs
	c := &cobra.Command{
		Use: "costs --config FILE --out DIR|FILE.parquet --shards N", Short: "Run experts under advice and record their losses", Long: costsText, Args: noArgs,
		Example: "  pipe-beam costs --config s3://data/experts.yaml --out costs.parquet --work s3://data/work --shards 400 --runner flink --endpoint flink:8099",
		RunE:    func(c *cobra.Command, _ []string) error { return runCosts(c, a, o) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Config, "config", "YAML file with instances, advice, experts and features")
	cli.LocationVarP(f, &o.Out, "out", "o", "a .parquet file, or a folder for costs.parquet")
	cli.LocationVar(f, &o.Answers, "answers", "folder or URL of answers of chat models (default: answers in the work folder)")
	f.BoolVar(&o.SkipBad, "skip-bad", false, "leave out and list images that cannot be read, instead of stopping")
	f.IntVar(&o.Shards.Workers, "workers", 1, "number of worker processes: each takes its `share` of the limits of services")
	f.Func("budget", "most `money` that all workers spend on chat models (default: no limit)", func(text string) error {
		limit, err := textfile.ParseNumber(text)
		if err != nil {
			return errors.New("it is not a number")
		}
		o.Budget = &limit
		return nil
	})
	return c
}

func runCosts(c *cobra.Command, a *app, o job.Costs) error {
	if err := required(c, "config", "out"); err != nil {
		return err
	}
	if err := absolute(&o.Config, &o.Out, &o.Answers); err != nil {
		return err
	}
	work, err := sharded.CostsWork(c.Context(), &costing.Options{Out: o.Out}, &sharded.ShardOptions{Work: a.work.Work})
	if err != nil {
		return err
	}
	a.work.Work = work
	if err := a.cut(c, o.Out); err != nil {
		return err
	}
	o.Shards.Shards, o.Shards.Work, o.Shards.Lease, o.Runtime = a.shards, a.work.Work, a.work.Lease, a.runtime
	return a.run(c, []string{job.CostsPass, "costs"}, o)
}
