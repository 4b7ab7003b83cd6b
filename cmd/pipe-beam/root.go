package main

import (
	"strings"

	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/cmd/pipe-beam/engine"
	"pipe/onnx/ort"
	"pipe/pipeline/inspect"
)

const rootText = `pipe-beam runs stages of pipe on the workers of an Apache Beam runner. A stage is cut into shards; the runner is given their
numbers, workers read inputs and write results themselves, and the program that submitted gathers the output. It has the
same bytes as the output of pipe on one machine.

The work folder, --work, holds what is done: all workers and this program must reach it, so it is a URL such as
s3://bucket/folder or a shared file system, like all paths of the configuration. After any error or interruption the same command continues.

On Flink and Spark, this program must be installed on the workers, under the same path as here or under that of
--environment-config. Credentials come from the environment of the workers; they are never sent.`

const rootExamples = `  pipe-beam costs --config s3://data/experts.yaml --out costs.parquet --work s3://data/work --shards 400 --runner flink --endpoint flink:8099
  pipe-beam train --in costs.parquet --config sweep.yaml --out policies --runner prism`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use: "pipe-beam", Short: "Run stages of pipe on an Apache Beam runner", Long: rootText, Example: rootExamples,
		SilenceErrors: true, SilenceUsage: true, Version: inspect.Version(), Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.JSON, "json", false, "print one JSON object instead of text")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress and no messages on standard error, except errors")
	f.StringVar(&a.runtime.Library, "runtime", "", "the ONNX Runtime library, or its folder, here and on the workers")
	f.StringVar(&a.runtime.Device, "device", ort.CPU, "device for ONNX graphs: cpu or cuda")
	f.IntVar(&a.runtime.Threads, "threads", 0, "threads of ONNX Runtime in each worker; 0: one per core")
	f.StringVar(&a.engine.Runner, "runner", engine.Prism, "the runner: "+strings.Join(engine.Runners(), ", "))
	f.StringVar(&a.engine.Endpoint, "endpoint", "", "host:port of the Beam job server; prism without one runs in this process")
	f.IntVar(&a.engine.Parallelism, "parallelism", 0, "shards at once; 0: as the runner does by default")
	f.StringVar(&a.engine.Environment, "environment", "", "where workers come from: process, docker or external (default: process on flink and spark, docker on dataflow)")
	f.StringVar(&a.engine.Config, "environment-config", "", "process: path of this program on the workers; docker: image; external: host:port")
	f.StringArrayVar(&a.engine.Flags, "beam-flag", nil, "flag of Beam's Go SDK or of the runner, `NAME=VALUE`; may be repeated")
	cli.LocationVar(f, &a.work.Work, "work", "folder or URL of finished shards (default: beside the output)")
	f.DurationVar(&a.work.Lease, "lease", a.work.Lease, "time after which a worker without a sign of life counts as lost")
	f.IntVar(&a.work.Tries, "tries", a.work.Tries, "times that a shard is tried")
	f.IntVar(&a.shards, "shards", 0, "number of shards; the same in every run with a work folder")
	root.PersistentPreRunE = a.parseLocations
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, "%v", err) })
	root.AddCommand(checkCommand(a), costsCommand(a), featurizeCommand(a), decideCommand(a), trainCommand(a))
	return root
}
