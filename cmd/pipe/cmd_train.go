package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pipe/internal/config"
	"pipe/pipeline"
)

const trainText = `Train learns policies from a cost tensor and leaves each as one ONNX file in the output folder, with train.json.

The recipe auto, the default, chooses architecture and regularisation on inner rows, averages seeds, and exports the
best fixed pair instead where the learned policy's gain over it is not certain. Rows with equal features, or of one
group, are never divided between learning and judging. The recipe paper trains with fixed
settings, one policy per lambda and seed. A configuration file has the same settings under train:, and flags win over
it. An interrupted run continues when it is started again.`

const trainExamples = `  pipe train --in costs.parquet --out policies
  pipe train --in costs.parquet --lambda 0,0.5,1 --methods l2d,separated_softmax --out policies
  pipe train --in costs.parquet --recipe paper --seeds 4 --config train.yaml --out policies`

// trainFile is the configuration file of pipe train.
type trainFile struct {
	Train pipeline.TrainConfig `yaml:"train"`
}

func (f *trainFile) Validate() error { return f.Train.Validate() }

func trainCommand(a *app) *cobra.Command {
	o := pipeline.DefaultTrainOptions()
	var config string
	c := &cobra.Command{
		Use:     "train --in FILE --out DIR",
		Short:   "Learn policies from a cost tensor",
		Long:    trainText,
		Example: trainExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runTrain(c, a, o, config) },
	}
	f := c.Flags()
	f.StringVar(&o.Tensor, "in", "", "cost tensor: a Parquet file or a folder of parts")
	f.StringVar(&o.Actions, "actions", "", "JSON file with the actions of a tensor that does not carry them")
	f.StringVarP(&o.Out, "out", "o", "", "folder for the policies")
	f.StringVar(&config, "config", "", "YAML file with a section train:")
	f.StringVar(&o.Split, "split", o.Split, "rows on which the true loss is printed: train, val or test")
	addTrainFlags(f, &o.TrainConfig)
	return c
}

// addTrainFlags adds the flags that stand for settings of the configuration file.
func addTrainFlags(f *pflag.FlagSet, c *pipeline.TrainConfig) {
	f.StringVar(&c.Recipe, "recipe", c.Recipe, "auto or paper")
	f.Float64SliceVar(&c.Lambdas, "lambda", c.Lambdas, "cost regimes: one policy for each")
	f.StringSliceVar(&c.Methods, "methods", c.Methods, "other methods beside the recipe's: ours (with auto), l2d, separated, separated_softmax")
	f.IntVar(&c.Seeds, "seeds", c.Seeds, "seeds of the recipe paper and of the other methods")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "the first seed")
	f.Float64Var(&c.Tau, "tau", c.Tau, "member of the surrogate family, in [0, 3]")
}

func runTrain(c *cobra.Command, a *app, o pipeline.TrainOptions, config string) error {
	if err := required(c, "in", "out"); err != nil {
		return err
	}
	if config != "" {
		if err := mergeTrainFile(c, &o.TrainConfig, config); err != nil {
			return err
		}
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	o.Runtime, o.Config = a.runtime(), config
	r, err := pipeline.Train(c.Context(), o, a.progress())
	if err != nil {
		return err
	}
	return a.print(r)
}

// mergeTrainFile takes the file's settings and sets the flags that were given once more on top of them.
func mergeTrainFile(c *cobra.Command, into *pipeline.TrainConfig, path string) error {
	file := trainFile{Train: pipeline.DefaultTrainConfig()}
	if err := config.Load(path, &file); err != nil {
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

// copyFlag gives target the value of f; lists are replaced as a whole.
func copyFlag(target, f *pflag.Flag) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return target.Value.(pflag.SliceValue).Replace(list.GetSlice())
	}
	return target.Value.Set(f.Value.String())
}
