package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const costsText = `Costs runs every expert under every advice over every instance that the configuration lists, and writes what each
pair lost: the cost tensor that pipe train learns from.

What is done is kept beside the output, in OUT.work: after an interruption of any kind the same command goes on where
it was, and the result is the same to the byte. Changed inputs are refused by name; --restart starts over. New fees
are no change: they are written into a finished tensor without asking anybody again.

Answers of chat models are kept in the folder of --answers, by the content of the question, and never paid for twice.
A run ends when the next question might cost more than is left of --budget; the same command goes on from there.`

const costsExamples = `  pipe costs --config configs/cifar10-small.yaml --out out/cifar10
  pipe costs --config experts.yaml --out costs.parquet --json
  pipe costs --config experts.yaml --out costs.parquet --restart
  pipe costs --config endpoints.yaml --out costs.parquet --budget 2.50 --answers answers`

func costsCommand(a *app) *cobra.Command {
	var o pipeline.CostsOptions
	c := &cobra.Command{
		Use:     "costs --config FILE --out DIR|FILE.parquet",
		Short:   "Run experts under advice and record what they lose",
		Long:    costsText,
		Example: costsExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runCosts(c, a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.Config, "config", "", "what to run: instances, advice, experts, features (YAML)")
	f.StringVarP(&o.Out, "out", "o", "", "a .parquet file, or a folder that gets costs.parquet")
	f.BoolVar(&o.Restart, "restart", false, "drop what an earlier run has done")
	f.StringVar(&o.Answers, "answers", "", "folder of the answers of chat models (default: answers beside the output)")
	budgetFlag(f, &o.Budget)
	skipBadFlag(f, &o.SkipBad)
	return c
}

func runCosts(c *cobra.Command, a *app, o pipeline.CostsOptions) error {
	if err := required(c, "config", "out"); err != nil {
		return err
	}
	o.Runtime = a.runtime()
	report, err := pipeline.BuildCosts(c.Context(), o, a.progress())
	if err != nil {
		return err
	}
	return a.print(report)
}
