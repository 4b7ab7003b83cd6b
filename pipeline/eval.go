package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"

	"pipe/costs"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/baseline"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
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
func PolicyFiles(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		inside, err := filepath.Glob(filepath.Join(p, "*.onnx"))
		if err != nil {
			return nil, fmt.Errorf("policies %q: %w", p, err)
		}
		if len(inside) == 0 {
			inside = []string{p}
			if stage.IsFolder(p) {
				return nil, fmt.Errorf("policies %q: the folder has no .onnx file: %w", p, fs.ErrNotExist)
			}
		}
		sort.Strings(inside)
		out = append(out, inside...)
	}
	return out, nil
}

// Learned has the decisions of a policy on the reported rows, in their order.
type Learned struct {
	Info   *policy.Info
	Action []int     // per row
	Scores []float32 // rows x actions
	Loss   []float32 // rows x actions, expected task loss with measured fees; nil: the policy is not by estimates

	File    string // that the policy was read from; "": none
	Digest  string // of the policy, independent of its file name; "": from memory
	Encoder string // in front of the policy, which took the features of the tensor instead; "": none

	prices *anyPrice // of an any-price policy, which has not decided yet; nil: Action has the decisions
}

// OpenLearned reads a policy file that matches t and decides the given rows of t. A t that is not valid is an error of
// costs.Tensor.Validate; if it has no such row, the error is a *costs.DataError.
func OpenLearned(ctx context.Context, rt *ort.Runtime, file string, t *costs.Tensor, rows []int) (Learned, error) {
	if err := checkRows(rt, t, rows); err != nil {
		return Learned{}, err
	}
	return openLearned(ctx, rt, file, t, rows)
}

// openLearned is OpenLearned without checks of the tensor and the rows. An any-price policy decides at the prices of its
// training.
func openLearned(ctx context.Context, rt *ort.Runtime, file string, t *costs.Tensor, rows []int) (l Learned, err error) {
	f, d, err := openPolicy(rt, file, t)
	if err != nil {
		return l, err
	}
	defer func() {
		if err = errors.Join(err, d.Close()); err != nil {
			err = fmt.Errorf("policy %q: %w", file, err)
		}
	}()
	if l, err = decideRows(ctx, d, d.Info().PriceAt(d.Info().Actions, d.Info().Lambda), t, rows); err != nil {
		return l, err
	}
	return l, l.identify(f, file)
}

// openPolicy opens a policy file that matches t, for decisions on features.
func openPolicy(rt *ort.Runtime, file string, t *costs.Tensor) (*decide.PolicyFile, *policy.Decider, error) {
	f, err := decide.ReadPolicy(file)
	if err != nil {
		return nil, nil, err
	}
	d, err := f.Open(rt)
	if err != nil {
		return nil, nil, err
	}
	if err := d.Info().Matches(t); err != nil {
		err = &costs.DataError{Err: err} // for the user, two files that do not match
		return nil, nil, fmt.Errorf("policy %q: %w", file, errors.Join(err, d.Close()))
	}
	if m := methods.Named(d.Info().Method); m.Role != models.RolePolicy {
		err = &costs.DataError{Msg: fmt.Sprintf("its method is %q, a name that reports use for another method: %s", m.Name, m.About)}
		return nil, nil, fmt.Errorf("policy %q: %w", file, errors.Join(err, d.Close()))
	}
	return f, d, nil
}

// identify records the file.
func (l *Learned) identify(f *decide.PolicyFile, file string) (err error) {
	l.File = file
	if f.About != nil {
		l.Encoder = f.About.Name
	}
	l.Digest, err = f.Digest()
	return err
}

// once removes duplicate policies, which may have another file name or an encoder in front, and returns notes about
// them: a policy counted twice would look like two seeds that agree.
func once(learned []Learned) (kept []Learned, notes []string) {
	first := map[string]string{}
	for _, l := range learned {
		if file, seen := first[l.Digest]; seen {
			notes = append(notes, fmt.Sprintf("%s is the same policy as %s, and is counted once.", l.File, file))
			continue
		}
		first[l.Digest] = l.File
		kept = append(kept, l)
	}
	return kept, notes
}

// decideRows runs a policy at prices over rows of a tensor in batches. A row that cannot be decided on is a
// *costs.DataError.
func decideRows(ctx context.Context, d *policy.Decider, p *policy.Pricing, t *costs.Tensor, rows []int) (Learned, error) {
	l := Learned{Info: d.Info()}
	const batch = 8192
	var features []float32
	for part := range slices.Chunk(rows, batch) {
		features = features[:0]
		for _, n := range part {
			features = append(features, t.Row(n)...)
		}
		out, err := decideBatch(ctx, d, p, features, len(part))
		var bad *policy.RowError
		if errors.As(err, &bad) {
			n := part[bad.Row]
			err = &costs.DataError{Row: n + 1, Msg: fmt.Sprintf("id %q", t.IDs[n]), Err: bad.Err}
		}
		if err != nil {
			return l, err
		}
		for _, a := range out.Action {
			l.Action = append(l.Action, int(a))
		}
		l.Scores, l.Loss = append(l.Scores, out.Scores...), append(l.Loss, out.Loss...)
	}
	return l, nil
}

// DecideRows exports a policy, opens the exported file and decides the given rows of t, so that the results are those
// of the deployed file. A t that is not valid is an error of costs.Tensor.Validate; if it has no such row or does not
// match the policy, the error is a *costs.DataError.
func DecideRows(ctx context.Context, rt *ort.Runtime, p *policy.Policy, t *costs.Tensor, rows []int) (Learned, error) {
	if err := errors.Join(checkRows(rt, t, rows), p.Validate()); err != nil {
		return Learned{}, err
	}
	if err := p.Matches(t); err != nil {
		return Learned{}, &costs.DataError{Err: err}
	}
	return exportAndDecide(ctx, rt, p, t, rows)
}

// exportAndDecide is DecideRows without its checks.
func exportAndDecide(ctx context.Context, rt *ort.Runtime, p *policy.Policy, t *costs.Tensor, rows []int) (Learned, error) {
	m, err := p.Export()
	if err != nil {
		return Learned{}, err
	}
	d, err := policy.NewDecider(rt, m)
	if err != nil {
		return Learned{}, err
	}
	defer d.Close()
	return decideRows(ctx, d, d.Info().PriceAt(p.Actions, p.Lambda), t, rows)
}

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

// sameTraining refuses policies that would be treated as seeds of one method although they were trained on other data
// or with other settings, such as leftovers of an earlier run in the same folder.
func sameTraining(learned []Learned) error {
	type key struct {
		method string
		lambda float64
	}
	first := map[key]Learned{}
	for _, l := range learned {
		k := key{l.Info.Method, l.Info.Lambda}
		other, seen := first[k]
		if !seen {
			first[k] = l
			continue
		}
		if trainingOf(l) != trainingOf(other) {
			return &costs.DataError{File: l.File, Msg: fmt.Sprintf(
				"same method (%s) and lambda as %s, but another training: choose policies of one training, or train into an empty folder",
				l.Info.Method, other.File)}
		}
	}
	return nil
}

// trainingOf identifies what the seeds of one training share: data and settings. Recipe auto searches its settings
// again for every seed.
func trainingOf(l Learned) string {
	if l.Info.Recipe == auto.Name {
		return l.Info.Info[policy.OriginKey]
	}
	var settings map[string]any
	if json.Unmarshal([]byte(l.Info.Info[policy.SettingsKey]), &settings) == nil {
		delete(settings, "seed")
	}
	return l.Info.Info[policy.OriginKey] + stage.JSON(settings)
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

// checkLearned refuses decisions that are not those of a policy on the reported rows of t.
func checkLearned(t *costs.Tensor, learned []Learned, o EvalOptions) error {
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return err
	}
	rows, actions := len(t.Rows(split)), t.Actions.Len()
	for i, l := range learned {
		switch {
		case l.Info == nil:
			return fmt.Errorf("decisions %d: they name no policy", i)
		case len(l.Action) != rows || len(l.Scores) != rows*actions:
			return fmt.Errorf("decisions %d: %d actions and %d scores, but split %s has %d rows and %d pairs",
				i, len(l.Action), len(l.Scores), o.Split, rows, actions)
		case l.Loss != nil && len(l.Loss) != rows*actions:
			return fmt.Errorf("decisions %d: %d expected losses, but split %s has %d rows and %d pairs", i, len(l.Loss), o.Split, rows, actions)
		}
		for n, a := range l.Action {
			if a < 0 || a >= actions || !t.Actions.Available(a) {
				return fmt.Errorf("decisions %d: row %d has the action %d, which does not exist", i, n, a)
			}
		}
	}
	return nil
}

// evalTensor is EvalTensor without checks.
func evalTensor(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, learned []Learned, o EvalOptions, progress stage.Progress) (*report.Report, error) {
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return nil, err
	}
	e := &evaluation{t: t, o: o, rows: t.Rows(split), train: t.Rows(costs.Train)}
	for _, l := range learned {
		if l.prices != nil {
			e.anyPrice = append(e.anyPrice, l)
		} else {
			e.learned = append(e.learned, l)
		}
	}
	e.together = t.Clusters(e.rows)
	if len(e.rows) == 0 {
		return nil, &costs.DataError{File: o.Tensor, Column: "split", Msg: fmt.Sprintf("no rows of split %s", o.Split)}
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
	r := &report.Report{Benchmark: "eval", Outcomes: t.OutcomesDigest(e.rows), Settings: map[string]string{
		"split": o.Split, "rows": fmt.Sprint(len(e.rows)), "training rows": fmt.Sprint(len(e.train)),
		"bootstrap resamples": fmt.Sprint(o.Resamples), "seed": fmt.Sprint(o.Seed),
	}}
	r.Caption(o.Own)
	r.Notes = append(e.cautions(split, lambdas), costs.RepeatNotes(costs.RepeatsIn(t, slices.Compact([]costs.Split{costs.Train, split})...))...)
	if e.together.Len() < 2 {
		r.Notes = append(r.Notes, fmt.Sprintf("There are no intervals: all %d rows are one draw, and how much another would differ cannot be known.", len(e.rows)))
	}
	own := e.learned
	if err := e.decideAt(ctx, lambdas); err != nil {
		return nil, err
	}
	progress.Start(int64(len(lambdas)), "evaluate")
	for _, l := range lambdas {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := e.regime(r, l); err != nil {
			return nil, err
		}
		progress.Add(1)
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
