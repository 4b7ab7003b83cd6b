package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/pipeline/eval"
)

const evalText = `Eval says what to deploy: for every lambda one policy or constant, and what it saves against the best fixed pair of
the training rows, the strongest expert, and the pair of --today. It recommends a policy only if that costs less than each
of them with a confidence of 95%. The recipe auto comes first among the policies, then any-price policies, then the
others as in the table of methods: the reported rows do not choose it.

Further tables say where the policy helps and harms, with intervals that hold for all segments together, and show rows that
it wins, loses or is surprised by. Their texts are in the report only if --texts names a table with them. --learning-curve
trains again on an eighth, a quarter and a half of the training rows, which takes about four times as long as training
without networks.

It also ranks policies and baselines by true loss on one split of a cost tensor. It reports the mean and spread over
seeds, 95% intervals of the difference to the best fixed pair and to L2D, how often each advice is used, and the best
advice of every expert. The intervals are paired bootstraps over rows, or over clusters of rows that belong together.

The policy with the lowest loss is marked, next to the best fixed pair of the training rows. A policy with other actions or
features than the tensor is refused. Notes report policies with other fees, a guard that fell back, and duplicate
policies.

An any-price policy is reported at every lambda of --lambda, at the fees of the tensor. The report then has a frontier:
task loss against money spent over a range of lambda, beside the best constant of the training rows. Where a policy that was
trained for one of these lambdas alone is given too, the frontier has the regret against it.

A cascade (pipe train --cascade) is played through the rows, which must have what can be seen of answers. It is reported
beside the policy that decides once, the best fixed pair and the oracle: cost, task loss, fees of all executed pairs, and on
how many rows it executed one pair, two, and so on. An any-price cascade is played at every lambda of --lambda, and in the
frontier at all its prices, beside what decides once.

With --prices, measured fees are computed again from the usage that the tensor has (tokens, calls, seconds), at the last
prices of every model in a price file: what is the policy worth after a service changed its prices?

For every policy that states expected losses, such as those of the recipe auto, the report compares them with the losses
that came true: the calibration error, a reliability diagram, and the difference over the chosen pairs and for each pair.

With --out the report is written into that folder as report.html, report.md, report.csv and report.json,
with its figures as SVG. --figures writes these alone.`

const evalExamples = `  pipe eval --in costs.parquet --policy policies
  pipe eval --in costs.parquet --policy policies/auto-lambda1.onnx --lambda 0.5,1 --split test --json
  pipe eval --in costs.parquet --policy policies --today large/none --money USD=40
  pipe eval --in costs.parquet --policy policies --prices prices-2027.yaml
  pipe eval --in costs.parquet --policy policies --texts questions.csv --text-column question --learning-curve --out report`

func evalCommand(a *app) *cobra.Command {
	o := eval.DefaultOptions()
	c := &cobra.Command{
		Use:     "eval --in FILE --policy FILE|DIR",
		Short:   "Rank policies and baselines by true loss",
		Long:    evalText,
		Example: evalExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runEval(c, a, o) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Tensor, "in", "cost tensor: a Parquet file or a folder of parts")
	cli.LocationVar(f, &o.Actions, "actions", "JSON file with the actions of a tensor that does not carry them")
	cli.LocationVar(f, &o.PriceFile, "prices", "price file, YAML or JSON: measured fees at its prices, such as currency: USD, models: {large: [{in: 5, out: 15}]} (default: as measured)")
	cli.LocationsVar(f, &o.Policies, "policy", "policy file, or a folder of them; may be repeated (default: baselines only)")
	f.StringVar(&o.Split, "split", o.Split, "rows to report on: train, val or test")
	f.Float64SliceVar(&o.Lambdas, "lambda", nil, "values of lambda (default: those of the policies)")
	f.BoolVar(&o.KNN, "knn", o.KNN, "include the nearest-neighbour baseline, which a learned policy should beat")
	f.StringVar(&o.Today, "today", "", "EXPERT/ADVICE that is used today, to compare with")
	f.IntVar(&o.Examples, "examples", o.Examples, "number of rows to show of each kind: won, lost and surprising")
	cli.LocationVar(f, &o.Texts, "texts", "table with the texts of these rows, to show them: .csv, .tsv, .jsonl, .json or .parquet (default: no texts)")
	cli.LocationVar(f, &o.Pictures, "pictures", "configuration of pipe costs that made the tensor, or a folder in which ids are paths, to show images of these rows (default: no images)")
	f.StringVar(&o.TextColumn, "text-column", o.TextColumn, "column of --texts with the texts")
	f.StringVar(&o.IDColumn, "id-column", o.IDColumn, "column of --texts with the ids")
	f.BoolVar(&o.Learning, "learning-curve", false, "train on parts of the training rows too: would more rows help?")
	f.StringVar(&o.Money, "money", "", "value of a loss of 1, such as USD=40 (default: that of the tensor, if it has one)")
	f.IntVar(&o.Resamples, "resamples", o.Resamples, "number of bootstrap resamples")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the bootstrap and of random baselines")
	cli.LocationVar(f, &o.Figures, "figures", "folder for the figures of the report alone, as SVG (default: with --out, in its folder)")
	cli.LocationVarP(f, &o.Out, "out", "o", "folder for the report (default: print it only)")
	return c
}

func runEval(c *cobra.Command, a *app, o eval.Options) error {
	if err := required(c, "in"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	o.Runtime = a.runtime
	r, err := eval.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	switch {
	case o.Figures.IsZero():
	case r.HasFigures():
		a.Say("figures in %s", o.Figures)
	default:
		a.Say("no figures: they need a policy (--policy), or several values of --lambda")
	}
	if !o.Out.IsZero() {
		a.Say("report in %s", o.Out.Join("report.html"))
	}
	return a.Print(r)
}
