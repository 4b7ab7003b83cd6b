package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/experts/builder"
	"pipe/pipeline/costing"
	"pipe/pipeline/sharded"
	"pipe/pipeline/shards"
)

const costsText = `Costs runs every expert under every advice on every instance of the configuration, and records the loss of each pair. The
result is the cost tensor that pipe train learns from.

Finished work is kept in OUT.work beside the output. After any interruption, the same command continues, and the result
has the same bytes. If an input has changed, the run stops and names it; --restart starts over. Changing only the fees
is allowed: they are written into the finished tensor, and no expert is asked again.

Answers of chat models are stored in the folder --answers under the content of the request, so none is paid for
twice. A run stops before a request that could exceed --budget; the same command with a new budget continues.

--dry-run estimates what a run would ask services for, and how much money and time that takes. It asks at most 20
requests for every expert under every advice, within --budget. Their answers are kept for the run.

With shards, --budget is what all workers may spend in all their runs, and answers are kept in the work folder.

Several machines can share the instances (docs/scale.md): --shards N --shard I makes one of N ranges of them, --shard next
one after the other until all are made, and --gather writes the file that one run writes, byte for byte.`

const costsExamples = `  pipe costs --config configs/cifar10-small.yaml --out out/cifar10
  pipe costs --config experts.yaml --out costs.parquet --json
  pipe costs --config experts.yaml --out costs.parquet --restart
  pipe costs --config one-expert-more.yaml --out more.parquet --base costs.parquet
  pipe costs --config endpoints.yaml --out costs.parquet --budget 2.50 --answers answers
  pipe costs --config endpoints.yaml --out costs.parquet --budget 2.50 --answers answers --dry-run
  pipe costs --config experts.yaml --out s3://bucket/costs.parquet --shards 40 --shard 7
  pipe costs --config experts.yaml --out s3://bucket/costs.parquet --shards 40 --gather`

func costsCommand(a *app) *cobra.Command {
	var o costing.Options
	var dryRun bool
	var split shardFlags
	workers := 1
	c := &cobra.Command{
		Use:     "costs --config FILE --out DIR|FILE.parquet",
		Short:   "Run experts under advice and record their losses",
		Long:    costsText,
		Example: costsExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runCosts(c, a, o, &split, workers, dryRun) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Config, "config", "YAML file with instances, advice, experts and features")
	cli.LocationVarP(f, &o.Out, "out", "o", "a .parquet file, or a folder for costs.parquet")
	f.StringVar(&o.Base, "base", "", "finished `output` of the same configuration without its last experts: only the new experts are asked")
	f.BoolVar(&o.Restart, "restart", false, "discard the work of an earlier run")
	cli.LocationVar(f, &o.Answers, "answers", "folder for answers of chat models (default: answers beside the output)")
	f.BoolVar(&dryRun, "dry-run", false, "estimate money and time from a sample, and build nothing")
	budgetFlag(f, &o.Budget)
	skipBadFlag(f, &o.SkipBad)
	f.IntVar(&workers, "workers", workers, "with --shards: number of workers that run at once; each takes its share of the limits of services")
	split.add(f)
	return c
}

func runCosts(c *cobra.Command, a *app, o costing.Options, split *shardFlags, workers int, dryRun bool) error {
	if err := required(c, "config", "out"); err != nil {
		return err
	}
	o.Runtime = a.runtime
	if split.on() || c.Flags().Changed("workers") {
		return runCostsShards(c, a, o, split, workers, dryRun)
	}
	if dryRun {
		estimate, err := costing.DryRun(c.Context(), o, a.Progress())
		if err != nil {
			return err
		}
		return a.Print(estimate)
	}
	report, err := costing.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	return a.Print(report)
}

func runCostsShards(c *cobra.Command, a *app, o costing.Options, split *shardFlags, workers int, dryRun bool) error {
	switch {
	case dryRun:
		return usage(c, "--dry-run estimates the whole run: leave the flags of shards out")
	case o.Restart && split.shard != "":
		return usage(c, "--restart with --shard would drop the work of other workers: drop finished shards with --list --restart, while no worker runs")
	}
	split.restart = o.Restart && split.list
	out, err := builder.OutputFile(c.Context(), o.Out)
	if err != nil {
		return err
	}
	return split.run(c, a, out, func(n int, so shards.Options) (_, _ shards.Stage, err error) {
		s := sharded.ShardOptions{Shards: n, Workers: workers, Work: so.Work, Lease: so.Lease, Gathers: split.gather}
		stage, err := sharded.OpenCosts(c.Context(), o, s, a.Progress())
		return nil, stage, err
	})
}
