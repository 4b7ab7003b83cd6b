package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"pipe/bench"
)

const benchText = `Bench runs a benchmark and prints its report. With --out it also writes report.html (one self-contained page), report.md,
report.csv, report.json and the figures into that folder. Benchmarks with several steps keep finished steps there: after
an interruption, the same command continues.

The benchmarks:
`

const benchExamples = `  pipe bench synthetic --out out/synthetic
  pipe bench fraud --config configs/fraud-generated.yaml --out out/fraud
  pipe bench imagenet --config configs/imagenet-small.yaml --out out/imagenet
  PIPE_DATA=/data pipe bench tables --config configs/tables.yaml --out out/tables
  pipe bench tables --config configs/tables.yaml --out out/tables --tables digit,gsm8k --methods auto,knn_100,mean_of_four
  pipe bench synthetic --json | jq '.rows[] | {method, true_loss_mean}'`

func benchCommand(a *app) *cobra.Command {
	var o bench.Options
	var about strings.Builder
	var names []string
	for _, b := range bench.All() {
		about.WriteString("  " + b.Name + "  " + b.About + "\n")
		names = append(names, b.Name)
	}
	c := &cobra.Command{
		Use:       "bench NAME",
		Short:     "Run a benchmark and print its report",
		Long:      benchText + about.String(),
		Example:   benchExamples,
		Args:      oneArg("the name of a benchmark"),
		ValidArgs: names,
		RunE:      func(c *cobra.Command, args []string) error { return runBench(c, a, args[0], o) },
	}
	c.Flags().StringVar(&o.Config, "config", "", "YAML file with the benchmark's settings")
	c.Flags().StringVarP(&o.Out, "out", "o", "", "folder for the report (default: print it only)")
	budgetFlag(c.Flags(), &o.Budget)
	skipBadFlag(c.Flags(), &o.SkipBad)
	c.Flags().BoolVar(&o.Restart, "restart", false, "discard the costs of an earlier run in the folder, or its decisions on the chosen tables")
	c.Flags().StringSliceVar(&o.Tables, "tables", nil, "tables only: run these tables of the configuration, separated by commas")
	c.Flags().StringSliceVar(&o.Methods, "methods", nil, "tables only: run these methods instead of those of the configuration")
	return c
}

func runBench(c *cobra.Command, a *app, name string, o bench.Options) error {
	o.Runtime = a.runtime
	o.Say = func(remark string) { a.Say("%s", remark) }
	r, err := bench.Run(c.Context(), name, o, a.Progress())
	if err != nil {
		return err
	}
	if o.Out != "" {
		a.Say("report in %s", filepath.Join(o.Out, "report.html"))
	}
	return a.Print(r)
}
