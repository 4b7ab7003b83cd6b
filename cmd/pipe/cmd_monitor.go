package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/costs"
	"pipe/internal/textfile"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/monitor"
)

const monitorText = `Monitor compares new rows with a baseline: the validation and test rows of the cost tensor that the policy was trained on.

  outcomes   An alarm rises when the mean outcome of executed pairs exceeds that of the baseline by more than --tolerance.
             If it does not, the alarm ever rises with a probability of at most --alpha. ADWIN also looks for changes over
             time.
  guarantee  Of a policy with a guarantee: the same for the mean loss of accepted decisions and the promised risk.
             Of a cascade with a guarantee, this alone is tested.
  decisions  Is each pair chosen as often as on the baseline?
  inputs     Has a feature changed, or the way in which features go together?

New rows are a cost tensor, or a log: Parquet, CSV, TSV or JSON lines with the features as pipe decide reads them, and the
columns expert, advice and loss of what was executed, if they are known. An empty loss is not known yet. Outcomes count in
the order of a column time, if there is one (RFC 3339, or microseconds since 1970), else in the order of the file. With
--encoder, --text and --image the features are computed of raw rows, texts and images, as by pipe decide.

With --state the test of outcomes goes on where the last run ended: give each run the new rows only. Inputs and decisions
are those of the run. A state belongs to one policy, baseline and tolerance; remove it to start again.

Exit code 5 is an alarm: a finding in a family of --fail-on. Findings in the others are warnings, with exit code 0.`

const monitorExamples = `  pipe monitor --policy policy.onnx --baseline costs.parquet --in new.parquet
  pipe monitor --policy policy.onnx --baseline costs.parquet --in log.csv --out report --json
  pipe monitor --policy policy.onnx --baseline costs.parquet --in today.parquet --state monitor.state --tolerance 0.05
  pipe monitor --policy policy.onnx --baseline costs.parquet --in rows.parquet --fail-on inputs,decisions,outcomes
  pipe monitor --policy merged.onnx --baseline costs.parquet --in questions.jsonl --text question`

func monitorCommand(a *app) *cobra.Command {
	o := monitor.DefaultRunOptions()
	splits := []string{"val", "test"}
	c := &cobra.Command{
		Use:     "monitor --policy FILE --baseline FILE --in FILE",
		Short:   "Watch a deployed policy: inputs, decisions and outcomes",
		Long:    monitorText,
		Example: monitorExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runMonitor(c, a, o, splits) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Policy, "policy", "the policy file")
	cli.LocationVar(f, &o.Baseline, "baseline", "cost tensor with rows that the policy was not trained on")
	cli.LocationVar(f, &o.Actions, "actions", "JSON file with the actions of a baseline that does not carry them")
	f.StringSliceVar(&splits, "split", splits, "rows of the baseline to compare with: train, val or test")
	cli.LocationVar(f, &o.In, "in", "new rows: a tensor, a table of what was executed, or the folder of a decision log")
	f.StringVar(&o.Encoder, "encoder", "", "encoder of raw rows: encoder.json, or with --text or --image an encoder of those")
	f.StringVar(&o.Text, "text", "", "column or field with the text, for an encoder of texts")
	f.StringVar(&o.Image, "image", "", "column or field with the path of an image, for an encoder of images")
	f.StringVar(&o.Decoder, "decoder", "", "JPEG decoder: standard, libjpeg-turbo, or auto for libjpeg-turbo if it is installed (default standard)")
	cli.LocationVarP(f, &o.Out, "out", "o", "folder for the report (default: print it only)")
	cli.LocationVar(f, &o.State, "state", "file from which the test of outcomes goes on, and to which it is saved")
	f.Float64Var(&o.Alpha, "alpha", o.Alpha, "most probability that the alarm of outcomes ever rises by mistake")
	f.Float64Var(&o.Tolerance, "tolerance", o.Tolerance, "by how much the mean outcome may exceed that of the baseline")
	f.Float64Var(&o.Warn, "warn", o.Warn, "level of the tests of inputs, and of those of decisions")
	f.StringSliceVar(&o.FailOn, "fail-on", o.FailOn, "families whose findings are alarms: inputs, decisions, outcomes, guarantee")
	rangeFlag(f, &o.Range)
	f.IntVar(&o.Sample, "sample", o.Sample, "most rows of the baseline that features are compared with")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the sample and of the random features")
	f.Float64Var(&o.ADWIN.Delta, "adwin-delta", o.ADWIN.Delta, "sensitivity of ADWIN; smaller finds fewer changes")
	priceFlags(f, &o.Prices, &o.PriceFile)
	return c
}

// rangeFlag adds the flag that sets the range of outcomes.
func rangeFlag(f *pflag.FlagSet, to **[2]float64) {
	f.Func("range", "outcomes are cut to this range, such as `0,1` (default: 0 to 1, wider if the baseline's losses are)", func(text string) error {
		low, high, two := strings.Cut(text, ",")
		a, err := textfile.ParseNumber(low)
		b, err2 := textfile.ParseNumber(high)
		if !two || errors.Join(err, err2) != nil || !(a < b) {
			return errors.New("it is not two numbers, the smaller first")
		}
		*to = &[2]float64{a, b}
		return nil
	})
}

// parseSplits reads the names of splits.
func parseSplits(names []string) (splits []costs.Split, err error) {
	for _, name := range names {
		s, err := costs.ParseSplit(name)
		if err != nil {
			return nil, err
		}
		splits = append(splits, s)
	}
	return splits, nil
}

func runMonitor(c *cobra.Command, a *app, o monitor.RunOptions, splits []string) error {
	if err := required(c, "policy", "baseline", "in"); err != nil {
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
	s, err := monitor.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	if !o.Out.IsZero() {
		a.Say("report in %s", o.Out.Join("monitor.html"))
	}
	if err := a.Print(s); err != nil {
		return err
	}
	if s.Verdict == monitor.Alarm {
		return &cli.Finding{Code: exitcode.Alarm, Label: "alarm: ", Msg: fmt.Sprintf("%s of %s", strings.Join(s.Alarms(), " and "), o.In)}
	}
	return nil
}
