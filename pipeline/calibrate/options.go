package calibrate

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/models/risk"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// Settings say what is promised, at which prices, and what takes over.
type Settings struct {
	risk.Settings `yaml:",inline"`
	// Lambdas are the prices at which the promise has to hold, of an any-price policy; empty: for such a policy DefaultLambdas as far as
	// they are in its range, and else the lambda of the file.
	Lambdas []float64 `yaml:"lambdas" json:"lambdas,omitempty"`
	Random  bool      `yaml:"random" json:"random,omitempty"` // the promise is on average over random prices of the range of an any-price policy
	// Instead is the expert that takes what is not accepted; empty: nobody does.
	Instead    string   `yaml:"instead" json:"instead,omitempty"`
	AbstainFee *float64 `yaml:"abstain_fee" json:"abstain_fee,omitempty"` // what that costs, in the unit of the loss; nil: not stated
	Seed       uint64   `yaml:"seed" json:"seed,omitempty"`               // of the order of rows and of random prices
}

// DefaultLambdas are those at which the promise of an any-price policy holds by default.
var DefaultLambdas = []float64{0, 0.5, 1, 2, 4, 8}

// DefaultSettings are those of package risk.
func DefaultSettings() Settings { return Settings{Settings: risk.DefaultSettings()} }

// Validate returns every problem at once.
func (s Settings) Validate() error {
	errs := []error{s.Settings.Validate()}
	if len(s.Lambdas) > 0 {
		errs = append(errs, costs.CheckLambdas(s.Lambdas))
		if s.Random {
			errs = append(errs, errors.New("random: random prices have no list of lambdas"))
		}
	}
	if f := s.AbstainFee; f != nil && !(*f >= 0 && *f <= policy.MaxFee) {
		errs = append(errs, fmt.Errorf("abstain_fee: %g is not a number from 0 to %g", *f, policy.MaxFee))
	}
	return errors.Join(errs...)
}

// Options are the options of Run.
type Options struct {
	Settings
	Policy  storage.Location
	Tensor  storage.Location // a Parquet file or a folder of parts
	Actions storage.Location // actions JSON, if the tensor has no metadata
	Split   string           // the calibration rows: val or test
	Out     storage.Location // the policy with its guarantee
	Runtime ort.Config
}

// DefaultOptions calibrate on validation rows.
func DefaultOptions() Options {
	return Options{Settings: DefaultSettings(), Split: costs.Val.String(), Runtime: ort.DefaultConfig()}
}

// Validate returns every problem at once.
func (o Options) Validate() error {
	_, err := ParseSplit(o.Split)
	return errors.Join(o.Settings.Validate(), err)
}

// ParseSplit reads the split of the calibration rows. Training rows are an error: the policy has learned them.
func ParseSplit(name string) (costs.Split, error) {
	split, err := costs.ParseSplit(name)
	if err == nil && split == costs.Train {
		err = errors.New("split: a policy is not calibrated on the rows that it was trained on: use val or test")
	}
	return split, err
}

func (o Options) files(ctx context.Context) stage.Files {
	return stage.Files{
		Reads:  append(stage.TensorFiles(ctx, o.Tensor, o.Actions), stage.NamedFiles(o.Policy)...),
		Writes: []stage.Output{{Path: o.Out}, {Path: decide.DescriptionFile(o.Out)}},
	}
}
