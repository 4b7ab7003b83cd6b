package main

import (
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/internal/textfile"
	"pipe/models/policy"
	"pipe/models/risk"
	"pipe/pipeline/calibrate"
)

const calibrateText = `Calibrate adds a guarantee to a policy: an output that says which decisions it accepts, so that with a confidence of 95% an
accepted decision has an expected loss of at most --risk. It accepts a decision if its expected loss is at most
a threshold, which it chooses on rows that trained nothing: the validation rows of the tensor, or its test rows with --split.
Rows of one group count as one sample. What is not accepted is for the expert or the pair of --instead, or for no one
(abstain), at a fee of --abstain-fee. The policy may be a cascade: the decision is then the answer that it accepts.

It first says what no policy can exceed on these rows, then which risks can be promised, and how many decisions can be
accepted at most. If none can at --risk, it writes nothing.

  ltt   learn then test, with the bound of Hoeffding and Bentkus (the default)
  rcps  the same with a bound by betting
  crc   conformal risk control: the mean loss of all decisions, where one that is not accepted counts as 0, is at most
        --risk on average over calibrations; there is no confidence

Losses are task losses without fees, from 0 to --bound. The guarantee is about the prices of the file; of an any-price
policy or cascade about those of --lambda, all at once, or with --random-prices about random prices of its range on average.

A policy that estimates no losses (of another recipe, or a fixed pair) accepts all rows or none. A policy with an encoder
in front is calibrated before the encoder is put there.`

const calibrateExamples = `  pipe calibrate --policy policy.onnx --in costs.parquet --risk 0.05 --out guarded.onnx
  pipe calibrate --policy policy.onnx --in costs.parquet --risk 0.1 --confidence 0.9 --instead reviewer --abstain-fee 0.3 --out guarded.onnx
  pipe calibrate --policy anyprice.onnx --in costs.parquet --risk 0.05 --lambda 0,1,4 --out guarded.onnx
  pipe calibrate --policy policy.onnx --in costs.parquet --risk 2 --bound 10 --method rcps --split test --out guarded.onnx`

func calibrateCommand(a *app) *cobra.Command {
	o := calibrate.DefaultOptions()
	c := &cobra.Command{
		Use:     "calibrate --policy FILE --in FILE --risk ALPHA --out FILE",
		Short:   "Add a guarantee to a policy: which decisions it accepts at a stated risk",
		Long:    calibrateText,
		Example: calibrateExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runCalibrate(c, a, o) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Policy, "policy", "the policy file")
	cli.LocationVar(f, &o.Tensor, "in", "cost tensor with rows that the policy was not trained on: a Parquet file or a folder of parts")
	cli.LocationVar(f, &o.Actions, "actions", "JSON file with the actions of a tensor that does not carry them")
	cli.LocationVarP(f, &o.Out, "out", "o", "the policy with its guarantee")
	f.StringVar(&o.Split, "split", o.Split, "the calibration rows: val or test")
	addRiskFlags(f, &o.Settings, "")
	f.Float64SliceVar(&o.Lambdas, "lambda", nil, "any-price policy: factors on the fees of advice at which the guarantee holds (default 0,0.5,1,2,4,8 within its range)")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the order of the rows and of random prices")
	return c
}

// addRiskFlags adds the flags that say what is promised. Those of pipe train whose names it has otherwise have a prefix.
func addRiskFlags(f *pflag.FlagSet, s *calibrate.Settings, prefix string) {
	f.Float64Var(&s.Risk, "risk", s.Risk, "largest expected loss of an accepted decision, such as 0.05")
	f.Float64Var(&s.Confidence, prefix+"confidence", s.Confidence, "with which the guarantee of --risk holds")
	f.StringVar((*string)(&s.Method), prefix+"method", string(s.Method), "how the threshold of --risk is chosen: "+string(risk.LTT)+", "+string(risk.RCPS)+" or "+string(risk.CRC))
	f.Float64Var(&s.Bound, prefix+"bound", s.Bound, "with --risk: the largest possible loss")
	f.StringVar(&s.Instead, "instead", s.Instead, "with --risk: expert or pair that takes what is not accepted, such as a person (default: no one, "+policy.Abstain+")")
	f.Var(&optionalNumber{&s.AbstainFee}, "abstain-fee", "with --risk: what it costs if a decision is not accepted, in the unit of the loss (default: not stated)")
	f.BoolVar(&s.Random, "random-prices", s.Random, "with --risk, any-price policy: the guarantee is on average over random prices of its range")
}

// optionalNumber is the value of a flag that may not be given.
type optionalNumber struct{ to **float64 }

func (v *optionalNumber) String() string {
	if v.to == nil || *v.to == nil {
		return ""
	}
	return strconv.FormatFloat(**v.to, 'g', -1, 64)
}

func (v *optionalNumber) Type() string { return "float" }

func (v *optionalNumber) Set(text string) error {
	n, err := textfile.ParseNumber(text)
	if err == nil {
		*v.to = &n
	}
	return err
}

func runCalibrate(c *cobra.Command, a *app, o calibrate.Options) error {
	if err := required(c, "policy", "in", "risk", "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	o.Runtime = a.runtime
	r, err := calibrate.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	return a.Print(r)
}
