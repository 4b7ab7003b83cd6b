package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/cmd/cli"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/train"
)

const trainText = `Train learns policies from a cost tensor. It writes each policy as one ONNX file into the output folder, with a description
in JSON beside it (NAME.onnx.json), and train.json.

Recipe auto, the default, blends ridge regressions, nearest neighbours and networks by their errors on held-out training
rows. Where the gain over the best fixed pair is not shown on such rows, it exports that pair instead. Rows of one
group, and copies with equal features, stay on one side of a held-out split; where losses show that rows with equal
features are different instances, these are taken as independent. Recipe paper trains with fixed settings, one policy per
lambda and seed.

With --any-price, recipe auto trains one policy for all prices: pipe decide takes lambda and fees as flags, and pipe
convert makes a file for one price. The range of prices that the guard checks is train.prices in the configuration.

With --prices, measured fees are computed again from the usage that the tensor has (tokens, calls, seconds), at the last
prices of every model in a price file.

With --log, train learns from a decision log: a row per decision, with the outcome of the pair that answered. Such rows,
and those of a table with propensities, judge by doubly robust estimates, and the guard by their lower bound. --deployed
names the policy that the new one must be better than; without it, that is the policy that decided in the log. Where the
new one is not shown to be better, the deployed policy stays: no policy of the recipe is exported, and the exit code is 6.
Pairs that the log executed on too few rows are never chosen (--support).

With --cascade, train also learns a cascade for every lambda, or with --any-price one for all prices: a policy that
executes a pair, looks at its answer, and then accepts it or executes another pair, at most --stages of them. The tensor
must say what can be seen of answers (observed_ columns). Where looking is not shown to be better than deciding once, the
cascade accepts every first answer. pipe decide and pipe eval play it through a table.

With --half-life, old rows count less. With --warm, an older policy is exported where it is shown to be better than the
new one on later rows. Rows with unknown outcomes are learned from too, and rows with all outcomes judge.

With --risk, policies of the recipe auto and cascades say which decisions they accept, so that an accepted one has an
expected loss of at most that much: as pipe calibrate does, on the rows of --split.

A configuration file has all settings under train:, and flags override it. After an interruption, the same command
continues.`

const trainExamples = `  pipe train --in costs.parquet --out policies
  pipe train --in costs.parquet --lambda 0,0.5,1 --methods l2d,separated_softmax --out policies
  pipe train --in costs.parquet --any-price --out policies
  pipe train --in costs.parquet --cascade --stages 3 --out policies
  pipe train --in costs.parquet --cascade --any-price --out policies
  pipe train --in costs.parquet --prices prices-2027.yaml --out policies
  pipe train --in costs.parquet --half-life 30d --out policies
  pipe train --log log --since 2026-06-01 --deployed live.onnx --out policies
  pipe train --in partial.parquet --deployed live.onnx --weights ips --clip 50 --out policies
  pipe train --in costs.parquet --risk 0.05 --risk-confidence 0.95 --abstain-fee 0.3 --out policies
  pipe train --in costs.parquet --recipe paper --seeds 4 --config train.yaml --out policies`

// trainFile is the configuration file of pipe train.
type trainFile struct {
	Train train.Settings `yaml:"train"`
}

func (f *trainFile) Validate() error { return f.Train.Validate() }

func trainCommand(a *app) *cobra.Command {
	o := train.DefaultOptions()
	var config storage.Location
	c := &cobra.Command{
		Use:     "train --in FILE --out DIR",
		Short:   "Learn policies from a cost tensor",
		Long:    trainText,
		Example: trainExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runTrain(c, a, o, config) },
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Tensor, "in", "cost tensor: a Parquet file or a folder of parts")
	cli.LocationVar(f, &o.Actions, "actions", "JSON file with the actions of a tensor that does not carry them")
	cli.LocationVar(f, &o.PriceFile, "prices", "price file, YAML or JSON: measured fees at its prices, such as currency: USD, models: {large: [{in: 5, out: 15}]} (default: as measured)")
	cli.LocationVarP(f, &o.Out, "out", "o", "folder for the policies")
	cli.LocationVar(f, &config, "config", "YAML file with settings under train:")
	cli.LocationVar(f, &o.Deployed, "deployed", "recipe auto: the policy that a new one must be better than (default: with --log the one that decided, else the best fixed pair)")
	addLogFlags(f, &o.Log)
	cli.LocationVar(f, &o.Warm, "warm", "recipe auto: an older policy, which is exported where it is shown to be better than the new one")
	f.StringVar(&o.Split, "split", o.Split, "rows for the printed true loss: train, val or test")
	addTrainFlags(f, &o.Settings)
	return c
}

// addTrainFlags adds the flags that override settings of the configuration file.
func addTrainFlags(f *pflag.FlagSet, c *train.Settings) {
	f.StringVar(&c.Recipe, "recipe", c.Recipe, "auto or paper")
	f.Float64SliceVar(&c.Lambdas, "lambda", c.Lambdas, "factors on the fees of advice; one policy for each; not with --any-price")
	f.Var(&c.HalfLife, "half-life", "recipe auto: age at which a training row counts half, such as 30d or 12h; the tensor needs times")
	f.StringVar(&c.Auto.Weights, "weights", c.Auto.Weights, "recipe auto: how outcomes of a log count when members are fitted: none (all alike) or ips (by 1/probability)")
	f.Float64Var(&c.Auto.Clip, "clip", c.Auto.Clip, "recipe auto: largest weight 1/probability of a row of a log")
	f.IntVar(&c.Auto.Support, "support", c.Auto.Support, "recipe auto: on how many training rows a log must have executed a pair, for a policy to take it")
	f.Float64Var(&c.Auto.Confidence, "confidence", c.Auto.Confidence, "recipe auto: of the one-sided bound of the gain, by which the guard decides on a log: 0.5 asks for no bound, 0.84 for one standard error")
	f.BoolVar(&c.AnyPrice, "any-price", c.AnyPrice, "recipe auto: one policy, and with --cascade one cascade, for all prices, instead of one for each lambda")
	f.BoolVar(&c.Cascade, "cascade", c.Cascade, "recipe auto: also learn a cascade, which looks at an answer before it accepts it")
	f.IntVar(&c.Stages, "stages", c.Stages, "with --cascade: how many pairs may be executed on a row, 2 or more")
	f.StringSliceVar(&c.Methods, "methods", c.Methods, "methods to train besides the recipe's own: "+otherMethods())
	f.IntVar(&c.Seeds, "seeds", c.Seeds, "number of seeds of recipe paper and of --methods")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "the first seed")
	f.Float64Var(&c.Tau, "tau", c.Tau, "tau of the surrogate, 0 to 3")
	addRiskFlags(f, &c.Guarantee, "risk-")
}

// otherMethods lists the values of --methods.
func otherMethods() string {
	var names []string
	for _, m := range models.Methods() {
		name := m.Name
		if name == models.Ours {
			name += " (with auto)" // recipe paper always trains it
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func runTrain(c *cobra.Command, a *app, o train.Options, config storage.Location) error {
	if err := required(c, "out"); err != nil {
		return err
	}
	if o.Log.Log.IsZero() {
		if err := required(c, "in"); err != nil {
			return err
		}
		if err := needsLog(c); err != nil {
			return err
		}
	}
	if !config.IsZero() {
		if err := mergeTrainFile(c, &o.Settings, config); err != nil {
			return err
		}
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	o.Runtime, o.Config = a.runtime, config
	r, err := train.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	if err := a.Print(r); err != nil || !r.Stays() {
		return err
	}
	return &cli.Finding{Code: exitcode.Stays, Label: "the deployed policy stays: ", Msg: fmt.Sprintf("the learned one is not shown to be better, so none is in %s", o.Out)}
}

// addLogFlags are the flags that say which decisions of a log are learned from.
func addLogFlags(f *pflag.FlagSet, o *fromlog.Options) {
	cli.LocationVar(f, &o.Log, "log", "in place of --in: the folder of a decision log")
	f.StringVar(&o.Policy, "policy", "", "with --log: only decisions of this policy, NAME or NAME@DIGEST, with its own probabilities")
	timeFlag(f, "since", "with --log: only decisions from this `time` on, such as 2026-01-31 or 2026-01-31T12:00:00Z; days are UTC", &o.Since)
	timeFlag(f, "until", "with --log: only decisions before this `time`", &o.Until)
	f.StringVar(&o.Money, "money", "", "with --log: what a loss of 1 is worth, `CURRENCY=VALUE`, for measured fees; default: what the policy's tensor says, if it had such")
	f.BoolVar(&o.NoFees, "no-fees", false, "with --log: no measured fees, although the policy learned from such")
}

// needsLog reports a flag that needs --log.
func needsLog(c *cobra.Command) error {
	for _, name := range []string{"policy", "since", "until", "money", "no-fees"} {
		if c.Flags().Changed(name) {
			return usage(c, "--%s needs --log", name)
		}
	}
	return nil
}

// mergeTrainFile reads the settings of the file and lets flags on the command line override them.
func mergeTrainFile(c *cobra.Command, into *train.Settings, path storage.Location) error {
	file := trainFile{Train: train.DefaultSettings()}
	if err := config.Load(c.Context(), path, &file); err != nil {
		return err
	}
	var given pflag.FlagSet
	merged := file.Train
	addTrainFlags(&given, &merged)
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if target := given.Lookup(f.Name); target != nil && err == nil {
			err = copyFlag(target, f)
		}
	})
	*into = merged
	return err
}

// copyFlag sets target to the value of f; lists are replaced as a whole.
func copyFlag(target, f *pflag.Flag) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return target.Value.(pflag.SliceValue).Replace(list.GetSlice())
	}
	return target.Value.Set(f.Value.String())
}
