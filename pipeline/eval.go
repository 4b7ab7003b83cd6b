package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/baseline"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// EvalOptions are the options of one evaluation.
type EvalOptions struct {
	Tensor    string    // cost tensor: a Parquet file or a folder of parts
	Actions   string    // actions JSON, if the file has no metadata; empty: beside it or inside
	Policies  []string  // policy files, or folders whose *.onnx files are policies
	Split     string    // rows to report on: train, val or test
	Lambdas   []float64 // cost regimes; nil: those of the policies
	KNN       bool      // fit and report the knn baseline
	Resamples int       // of the paired bootstrap
	Seed      uint64    // of the bootstrap, of knn's inner split and of random baselines
	Findings  bool      // report what to deploy, where it helps, and examples
	Examples  int       // rows of each kind to show
	Learning  bool      // retrain on parts of the training rows: would more rows help?
	// A table with the texts of examples, and its columns. They are shown to whoever reads the report. Empty: none.
	Texts, TextColumn, IDColumn string
	Pictures                    string     // the configuration of pipe costs that made the tensor, or a folder in which ids are paths, for pictures of examples; empty: none
	Today                       string     // the pair "EXPERT/ADVICE" that is used today, which the verdict compares with; empty: not known
	Money                       string     // the value of a loss of 1, such as USD=40; empty: that of the tensor, if it has one
	Out                         string     // folder for the report; empty: none
	Runtime                     ort.Config // library and device
	// Own are trained methods from outside package models, under the names that policies record.
	Own []models.Method `json:"-"` // not part of the record of a step
	// whole is the digest of the tensor before incomplete rows were left out; empty: none were.
	whole string
}

// DefaultEvalOptions reports on validation rows with every baseline and all findings.
func DefaultEvalOptions() EvalOptions {
	return EvalOptions{Split: "val", KNN: true, Findings: true, Examples: 5, TextColumn: "text", IDColumn: "id", Resamples: 2000, Runtime: ort.DefaultConfig()}
}

// MostExamples limits the examples of a report.
const MostExamples = 1000

// MostResamples limits the memory of a bootstrap, which keeps every mean.
const MostResamples = 1_000_000

// Validate reports every problem at once.
func (o EvalOptions) Validate() error {
	var errs []error
	if o.Resamples < 2 || o.Resamples > MostResamples {
		errs = append(errs, fmt.Errorf("resamples: %d, not 2 to %d", o.Resamples, MostResamples))
	}
	if _, err := costs.ParseSplit(o.Split); err != nil {
		errs = append(errs, err)
	}
	if err := methods.CheckOwn(o.Own); err != nil {
		errs = append(errs, err)
	}
	if o.Examples < 0 || o.Examples > MostExamples {
		errs = append(errs, fmt.Errorf("examples: %d, not 0 to %d", o.Examples, MostExamples))
	}
	if o.Learning && o.Split == costs.Train.String() {
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
	return errors.Join(errs...)
}

// Eval ranks policies and baselines by true loss on one split of a tensor. A policy whose actions or features differ
// from the tensor's is refused. If another run is using the folder, the error is a *stage.InUseError.
func Eval(ctx context.Context, o EvalOptions, progress stage.Progress) (*report.Report, error) {
	progress = stage.OrQuiet(progress)
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.files().Check(); err != nil {
		return nil, err
	}
	return stage.Alone(o.Out, func() (*report.Report, error) { return evaluateInto(ctx, o, progress) })
}

func evaluateInto(ctx context.Context, o EvalOptions, progress stage.Progress) (_ *report.Report, err error) {
	rt, err := ort.Open(o.Runtime)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	progress.Start(-1, "read costs")
	defer progress.Done()
	all, err := costs.Read(o.Tensor, costs.ReadOptions{Actions: o.Actions, Unknown: true})
	if err != nil {
		return nil, err
	}
	files, err := PolicyFiles(o.Policies)
	if err != nil {
		return nil, err
	}
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return nil, err
	}
	t, left, err := onlyComplete(all, split)
	if err != nil {
		return nil, fmt.Errorf("evaluate on %q: %w", o.Tensor, err)
	}
	if left != "" {
		o.whole = all.Digest()
	}
	var learned []Learned
	defer func() { err = errors.Join(err, closeAll(learned)) }()
	progress.Start(int64(len(files)), "decide by policies")
	for _, f := range files {
		l, err := openReported(ctx, rt, f, t, t.Rows(split))
		if err != nil {
			return nil, err
		}
		learned = append(learned, l)
		progress.Add(1)
	}
	kept, notes := once(learned)
	if err := sameTraining(kept); err != nil {
		return nil, err
	}
	r, err := evalTensor(ctx, rt, t, kept, o, progress)
	if err != nil {
		return nil, err
	}
	if left != "" {
		notes = append(notes, left)
	}
	r.Notes = append(notes, r.Notes...)
	r.Title = fmt.Sprintf("Evaluation of %s on %s", filepath.Base(o.Tensor), o.Split)
	if o.Pictures != "" {
		if r.Album, err = o.album(ctx, r, progress); err != nil {
			return nil, err
		}
	}
	if o.Out != "" {
		return r, report.Write(o.Out, r)
	}
	return r, nil
}

// PolicyFiles lists the given files and the *.onnx files of given folders.
func PolicyFiles(paths []string) ([]string, error) { return stage.FilesIn("policies", paths, ".onnx") }

// EvalPolicies is [Eval] on a tensor and policies in memory. Each policy is exported and decides the rows of the split
// that o names. A tensor that is not valid is an error of costs.Tensor.Validate; if it does not match a policy, the
// error is a *costs.DataError.
func EvalPolicies(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, policies []*policy.Policy, o EvalOptions, progress stage.Progress) (_ *report.Report, err error) {
	progress = stage.OrQuiet(progress)
	if err := checkInMemory(rt, t, o.Validate()); err != nil {
		return nil, err
	}
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return nil, err
	}
	var learned []Learned
	defer func() { err = errors.Join(err, closeAll(learned)) }()
	for i, p := range policies {
		if err := p.Validate(); err != nil {
			return nil, fmt.Errorf("policy %d: %w", i, err)
		}
		if err := p.Matches(t); err != nil {
			return nil, &costs.DataError{Err: err}
		}
		l, err := reported(ctx, rt, p, t, t.Rows(split))
		if err != nil {
			return nil, err
		}
		learned = append(learned, l)
	}
	return evalTensor(ctx, rt, t, learned, o, progress)
}

// EvalTensor is Eval on a tensor and decisions in memory. Policies of one method and lambda are seeds of one method.
// Method l2d does not depend on lambda and is reported at all of them. A tensor that is not valid is an
// error of costs.Tensor.Validate.
func EvalTensor(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, learned []Learned, o EvalOptions, progress stage.Progress) (*report.Report, error) {
	if err := checkInMemory(rt, t, o.Validate()); err != nil {
		return nil, err
	}
	if err := checkLearned(t, learned, o); err != nil {
		return nil, err
	}
	return evalTensor(ctx, rt, t, learned, o, stage.OrQuiet(progress))
}

// evalTensor is EvalTensor without checks.
func evalTensor(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, learned []Learned, o EvalOptions, progress stage.Progress) (*report.Report, error) {
	e, split, err := newEvaluation(t, learned, o)
	if err != nil {
		return nil, err
	}
	lambdas := o.Lambdas
	if lambdas == nil {
		lambdas = e.regimes()
	}
	if o.KNN && len(e.train) >= 2 {
		progress.Start(-1, "nearest neighbours")
		if e.knn, err = baseline.FitKNN(ctx, rt, t, e.train, e.rows, baseline.DefaultKNNSettings(o.Seed)); err != nil {
			return nil, err
		}
	}
	r, own := e.begin(split, lambdas), e.learned
	if err := e.rank(ctx, r, lambdas, progress); err != nil {
		return nil, err
	}
	progress.Start(-1, "calibration")
	if r.Calibration, err = e.calibrations(lambdas, own); err != nil {
		return nil, err
	}
	progress.Start(-1, "frontier")
	if r.Frontier, err = e.frontier(ctx, lambdas, own); err != nil {
		return nil, err
	}
	if r.Constants, err = e.constants(); err != nil {
		return nil, err
	}
	if o.Findings {
		if err := e.findings(ctx, rt, r, lambdas, progress); err != nil {
			return nil, err
		}
	}
	progress.Done()
	return r, nil
}

// newEvaluation sorts the policies, and finds the reported rows and those that belong together.
func newEvaluation(t *costs.Tensor, learned []Learned, o EvalOptions) (*evaluation, costs.Split, error) {
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return nil, split, err
	}
	e := &evaluation{t: t, o: o, rows: t.Rows(split), train: t.Rows(costs.Train)}
	for _, l := range learned {
		if l.prices != nil {
			e.anyPrice = append(e.anyPrice, l)
		} else {
			e.learned = append(e.learned, l)
		}
	}
	if len(e.rows) == 0 {
		return nil, split, &costs.DataError{File: o.Tensor, Column: "split", Msg: fmt.Sprintf("no rows of split %s", o.Split)}
	}
	e.together = t.Clusters(e.rows)
	return e, split, nil
}

// begin is the report before there are results: its settings, and notes on the rows.
func (e *evaluation) begin(split costs.Split, lambdas []float64) *report.Report {
	r := &report.Report{Benchmark: "eval", Outcomes: e.t.OutcomesDigest(e.rows), Settings: map[string]string{
		"split": e.o.Split, "rows": fmt.Sprint(len(e.rows)), "training rows": fmt.Sprint(len(e.train)),
		"bootstrap resamples": fmt.Sprint(e.o.Resamples), "seed": fmt.Sprint(e.o.Seed),
	}}
	r.Caption(e.o.Own)
	r.Notes = append(e.cautions(split, lambdas), costs.RepeatNotes(costs.RepeatsIn(e.t, slices.Compact([]costs.Split{costs.Train, split})...))...)
	if e.together.Len() < 2 {
		r.Notes = append(r.Notes, fmt.Sprintf("There are no intervals: all %d rows are one draw, and how much another would differ cannot be known.", len(e.rows)))
	}
	return r
}

// rank adds the methods at every lambda.
func (e *evaluation) rank(ctx context.Context, r *report.Report, lambdas []float64, progress stage.Progress) error {
	if err := e.decideAt(ctx, lambdas); err != nil {
		return err
	}
	progress.Start(int64(len(lambdas)), "evaluate")
	for _, l := range lambdas {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.regime(r, l); err != nil {
			return err
		}
		progress.Add(1)
	}
	return nil
}

// regimes are the lambdas of all policies that depend on it, ascending; 1 if there are none.
func (e *evaluation) regimes() []float64 {
	var out []float64
	for _, l := range slices.Concat(e.learned, e.anyPrice) {
		if !e.method(l).NoAdvice && !slices.Contains(out, l.Info.Lambda) {
			out = append(out, l.Info.Lambda)
		}
	}
	if len(out) == 0 {
		out = []float64{1}
	}
	slices.Sort(out)
	return out
}

func (o EvalOptions) files() stage.Files {
	f := stage.Files{Reads: stage.TensorFiles(o.Tensor, o.Actions)}
	for _, p := range o.Policies {
		f.Reads = append(f.Reads, stage.Input{Path: p, Part: stage.Ending(".onnx")})
	}
	switch {
	case stage.IsFolder(o.Pictures):
		f.Reads = append(f.Reads, stage.Input{Path: o.Pictures, Grow: true, Big: true})
	case o.Pictures != "":
		f.Reads = append(f.Reads, stage.ConfigFiles(o.Pictures)...)
	}
	if o.Texts != "" {
		f.Reads = append(f.Reads, stage.Input{Path: o.Texts})
	}
	if o.Out != "" {
		f.Writes = []stage.Output{{Path: o.Out, Patterns: report.Patterns}}
	}
	return f
}
