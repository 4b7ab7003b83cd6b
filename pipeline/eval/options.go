package eval

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/onnx/ort"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// Options are the options of one evaluation.
type Options struct {
	Tensor    storage.Location   // cost tensor: a Parquet file or a folder of parts
	Actions   storage.Location   // actions JSON, if the file has no metadata; empty: beside it or inside
	PriceFile storage.Location   // prices of models, at which the fees of the tensor are; empty: as they are
	Policies  []storage.Location // policy files, or folders whose *.onnx files are policies
	Split     string             // rows to report on: train, val or test
	Lambdas   []float64          // cost regimes; nil: those of the policies
	KNN       bool               // fit and report the knn baseline
	Resamples int                // of the paired bootstrap
	Seed      uint64             // of the bootstrap, of knn's inner split and of random baselines
	Findings  bool               // report what to deploy, where it helps, and examples
	Examples  int                // rows of each kind to show
	Learning  bool               // retrain on parts of the training rows: would more rows help?
	// A table with the texts of examples, and its columns. Every reader of the report sees these texts. Empty: none.
	Texts      storage.Location
	TextColumn string
	IDColumn   string
	Pictures   storage.Location // the configuration of pipe costs that made the tensor, or a folder in which ids are paths, for pictures of examples; empty: none
	Today      string           // the pair "EXPERT/ADVICE" that is used today, which the verdict compares with; empty: not known
	Money      string           // the value of a loss of 1, such as USD=40; empty: that of the tensor, if it has one
	Out        storage.Location // folder for the report; empty: none
	Figures    storage.Location // folder for the figures alone, as SVG; empty: none
	Runtime    ort.Config       // library and device
	// Own are trained methods from outside package models, under the names that policies record.
	Own []models.Method `json:"-"` // not part of the record of a step
}

// plan is the options of one evaluation after their only check.
type plan struct {
	Options
	split costs.Split // rows to report on
	whole []string    // digests of the tensor before its prices were changed and incomplete rows left out; empty: neither was
}

// DefaultOptions reports on validation rows with every baseline and all findings.
func DefaultOptions() Options {
	return Options{Split: "val", KNN: true, Findings: true, Examples: 5, TextColumn: "text", IDColumn: "id", Resamples: 2000, Runtime: ort.DefaultConfig()}
}

// mostExamples limits the examples of a report.
const mostExamples = 1000

// MostResamples limits the memory of a bootstrap, which keeps every mean.
const MostResamples = 1_000_000

// Validate reports every problem at once.
func (o Options) Validate() error {
	_, err := o.plan()
	return err
}

// plan checks the options. The error names every problem.
func (o Options) plan() (*plan, error) {
	var errs []error
	if o.Resamples < 2 || o.Resamples > MostResamples {
		errs = append(errs, fmt.Errorf("resamples: %d, not 2 to %d", o.Resamples, MostResamples))
	}
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		errs = append(errs, err)
	}
	if err := methods.CheckOwn(o.Own); err != nil {
		errs = append(errs, err)
	}
	if o.Examples < 0 || o.Examples > mostExamples {
		errs = append(errs, fmt.Errorf("examples: %d, not 0 to %d", o.Examples, mostExamples))
	}
	if o.Learning && err == nil && split == costs.Train {
		errs = append(errs, errors.New("learning curve: the reported rows are training rows, on which it shows nothing"))
	}
	if o.Money != "" {
		if _, err := costs.ParseMoney(o.Money); err != nil {
			errs = append(errs, fmt.Errorf("money: %w", err))
		}
	}
	for _, l := range o.Lambdas {
		if !costs.UsableLambda(l) {
			errs = append(errs, fmt.Errorf("lambda: %g is not a number from 0 to %g", l, costs.MaxLambda))
		}
	}
	return &plan{Options: o, split: split}, errors.Join(errs...)
}

func (o Options) files(ctx context.Context) stage.Files {
	f := stage.Files{Reads: append(stage.TensorFiles(ctx, o.Tensor, o.Actions), stage.NamedFiles(o.PriceFile)...)}
	for _, p := range o.Policies {
		f.Reads = append(f.Reads, stage.Input{Path: p, Part: stage.Ending(".onnx")})
	}
	switch {
	case stage.IsFolder(ctx, o.Pictures):
		f.Reads = append(f.Reads, stage.Input{Path: o.Pictures, Grow: true, Big: true})
	case !o.Pictures.IsZero():
		f.Reads = append(f.Reads, stage.ConfigFiles(ctx, o.Pictures)...)
	}
	if !o.Texts.IsZero() {
		f.Reads = append(f.Reads, stage.Input{Path: o.Texts})
	}
	if !o.Out.IsZero() {
		f.Writes = []stage.Output{{Path: o.Out, Patterns: report.Patterns}}
	}
	if !o.Figures.IsZero() {
		f.Writes = append(f.Writes, stage.Output{Path: o.Figures, Patterns: report.FigurePatterns})
	}
	return f
}
