package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/pipeline/ope"
)

const opeText = `Ope says from a log of executed pairs what another policy would have cost, and what switching to it would save: off-policy
evaluation. Of each row of the log only the executed pair's cost is known, and the probability with which it was executed.

The log is the folder of a decision log (--log), or a cost tensor with propensities (--costs), as pipe import --log --partial
makes of a log and pipe import --config of the table of another system.

--policy and --against are a policy file, pair:EXPERT/ADVICE for always the same pair, or logged: what made the log, with its
canaries and exploration. Policies choose among the pairs that were available on a row, and take the best one.

All costs are at one price list: that of the log's latest policy, or the fees of the tensor. An any-price policy decides at
these prices; --lambda and --fee change both.

The first line says what the log can tell. It cannot tell if the interval has 0 in it, if too few rows count, if the policy
chooses pairs that the log never tried, or if the log contradicts itself. The bootstrap interval is for one look. The exact
one beside it holds however often the log is looked at, and for costs within --range.

What the estimates depend on follows: effective rows, the rows with the largest weights, pairs without support, missing and
late outcomes, whether the probabilities fit what was executed, and every row that was left out, with the reason.` + gateText

const opeExamples = `  pipe ope --log log --policy next.onnx
  pipe ope --log log --policy next.onnx --against live.onnx --since 2026-01-01 --out next.html
  pipe ope --log log --policy pair:large/none --estimator all
  pipe ope --costs partial.parquet --policy anyprice.onnx --lambda 0.5 --fee expert=large:0.02
  pipe ope --costs decisions.parquet --policy pair:small/none --estimate-propensities --json
  pipe ope --gate --log log --candidate next --range 0,1`

func opeCommand(a *app) *cobra.Command {
	o := ope.DefaultOptions()
	splits, g := []string{"val", "test"}, &gateFlags{}
	c := &cobra.Command{
		Use:     "ope --log DIR|--costs FILE --policy FILE|pair:EXPERT/ADVICE | --gate --log DIR --candidate NAME",
		Short:   "Say from a log what another policy would have cost",
		Long:    opeText,
		Example: opeExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if g.on {
				return g.run(c, a, o)
			}
			return runOPE(c, a, o, splits)
		},
	}
	f := c.Flags()
	g.add(f)
	cli.LocationVar(f, &o.Log, "log", "folder of a decision log")
	cli.LocationVar(f, &o.Costs, "costs", "cost tensor with a column propensity")
	cli.LocationVar(f, &o.Actions, "actions", "JSON file with the actions of a tensor that does not carry them")
	f.StringSliceVar(&splits, "split", splits, "rows of the tensor: train, val or test")
	f.StringVar(&o.Policy, "policy", "", "the policy in question: a policy file, pair:EXPERT/ADVICE, or logged")
	f.StringVar(&o.Against, "against", o.Against, "what it is compared with: a policy file, pair:EXPERT/ADVICE, or logged")
	timeFlag(f, "since", "with --log: only decisions from this `time` on, such as 2026-01-31 or 2026-01-31T12:00:00Z; days are UTC", &o.Since)
	timeFlag(f, "until", "with --log: only decisions before this `time`", &o.Until)
	f.StringVar(&o.Money, "money", "", "with --log: what a loss of 1 is worth, `CURRENCY=VALUE`, for measured fees; default: what the policy's tensor says, if it had such")
	f.BoolVar(&o.NoFees, "no-fees", false, "with --log: no measured fees, although the policy learned from such")
	f.BoolVar(&o.Fallbacks, "fallbacks", false, "with --log: keep decisions that another pair answered; their cost is that of choosing the pair, fallback included")
	priceFlags(f, &o.Prices, &o.PriceFile)
	f.StringVar(&o.Estimator, "estimator", o.Estimator, "how costs are estimated: dr, mrdr, switch, dros, snips, ips, dm, or all")
	f.BoolVar(&o.Propensity, "estimate-propensities", false, "guess the probabilities of a log that has none from the features")
	rangeFlag(f, &o.Range)
	f.Float64Var(&o.Level, "level", o.Level, "confidence of intervals")
	f.IntVar(&o.Resamples, "resamples", o.Resamples, "number of bootstrap resamples")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the bootstrap and of the folds")
	cli.LocationVarP(f, &o.Out, "out", "o", "file for the report as an HTML page (default: print it only)")
	f.Lookup("range").Usage = "what task losses can be, such as `0,1`, for the exact interval (default: 0 to 1, wider if those in the log are)"
	f.Lookup("lambda").Usage = "`multiplier` of the fees of advice in all costs, and for an any-price policy to decide at (default: that of the log, or of the policy)"
	f.Lookup("prices").Usage = "with --costs: price file of models, YAML or JSON: measured fees are at its last prices, and a policy with usage decides at them"
	return c
}

func runOPE(c *cobra.Command, a *app, o ope.Options, splits []string) error {
	if err := required(c, "policy"); err != nil {
		return err
	}
	var err error
	if o.Splits, err = parseSplits(splits); err != nil {
		return usage(c, "%v", err)
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	o.Device = a.runtime
	r, err := ope.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	if !o.Out.IsZero() {
		a.Say("report in %s", o.Out)
	}
	return a.Print(r)
}
