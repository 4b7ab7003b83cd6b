package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/featurize"
	"pipe/featurize/pixel"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/hf"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// Options are the options of Convert.
type Options struct {
	Model      string              // a Hugging Face model folder, an .onnx file, or org/name in the local cache
	Out        storage.Location    // the ONNX file
	Merge      storage.Location    // a policy to put behind the encoder; empty: the encoder alone
	Tower      string              // of a model with encoders of texts and of images, text or vision; empty: vision
	MaxLength  int                 // of texts: most tokens; 0: as the model says
	Tokenizer  string              // of texts: tokenizer.json or the folder that holds it; empty: the model's own
	Preprocess *pixel.Preprocess   // of images; nil: as the model says
	Output     string              // of images: the output that is the vector; empty: the only one
	Precision  featurize.Precision // of images; empty: as an encoder's file has it, else float32
	// Prices are those of the file with fixed prices that is made of an any-price policy or cascade. The model is then this file, or Merge is
	// the policy.
	Prices    policy.PriceChange
	PriceFile storage.Location // prices of what calls use, for a policy with usage; empty: those of its training
}

// DefaultOptions takes the model as it is.
func DefaultOptions() Options { return Options{} }

// Validate reports every problem at once.
func (o Options) Validate() error {
	var problems []error
	if o.Model == "" || o.Out.IsZero() {
		problems = append(problems, errors.New("convert: a model and an output file are needed"))
	}
	if o.MaxLength < 0 {
		problems = append(problems, fmt.Errorf("convert: texts of %d tokens", o.MaxLength))
	}
	if o.Tower != "" && featurize.TowerInputs()[hf.Tower(o.Tower)] == "" {
		problems = append(problems, fmt.Errorf("convert: tower %q: known are %s", o.Tower, knownTowers()))
	}
	if err := o.Precision.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("convert: %w", err))
	}
	if o.Preprocess != nil {
		if err := o.Preprocess.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("convert: preprocessing: %w", err))
		}
	}
	return errors.Join(problems...)
}

func (o Options) files(ctx context.Context) stage.Files {
	return stage.Files{
		Reads:  slices.Concat(stage.ModelFiles(ctx, o.Model), stage.ModelFiles(ctx, o.Tokenizer), stage.NamedFiles(o.Merge, o.PriceFile)),
		Writes: []stage.Output{{Path: o.Out}, {Path: decide.DescriptionFile(o.Out)}},
	}
}

// knownTowers lists the towers that a model may have.
func knownTowers() string {
	var names []string
	for tower := range featurize.TowerInputs() {
		names = append(names, string(tower))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
