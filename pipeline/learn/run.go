package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/gate"
	"pipe/pipeline/ope"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// run is one run.
type run struct {
	*Options
	bar       stage.Progress
	deployed  *policyFile
	candidate *policyFile // the file that is there; nil: none
	last      state       // of the run before
	since     time.Time   // begin of the window; zero: everything
	saw       seen
	looked    bool // whether there is something to learn, or promoted: the next run has to know
	report    *Report
}

// Run does what is to be done now, and says what that was. A second run at the same time ends with a *stage.InUseError. Options that
// cannot be are *stage.OptionError; files and logs that cannot be used are *costs.DataError.
func Run(ctx context.Context, o Options, bar stage.Progress) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.files().Check(ctx); err != nil {
		return nil, err
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	r := &run{Options: &o, bar: stage.OrQuiet(bar)}
	alone := o.State.Location()
	if o.DryRun {
		alone = storage.Location{}
	}
	return stage.Alone(alone, func() (*Report, error) { return r.all(ctx) })
}

func (r *run) all(ctx context.Context) (*Report, error) {
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	report, err := r.decide(ctx)
	if err != nil || r.DryRun || !r.looked {
		return report, err
	}
	r.step("state")
	return report, r.remember(ctx)
}

// open reads the files and surveys the log.
func (r *run) open(ctx context.Context) (err error) {
	if r.last, err = readState(ctx, r.in(stateFile)); err != nil {
		return err
	}
	if r.deployed, err = openPolicy(ctx, r.Deployed.Location()); err != nil {
		return err
	}
	if r.deployed.About != nil {
		return &stage.OptionError{Err: fmt.Errorf("deployed: %q has its encoder in front, which a learned policy does not have; serve it without, under policies.encoders", r.Deployed)}
	}
	if r.candidate, err = openCandidate(ctx, r.Candidate.Location(), r.deployed); err != nil {
		return err
	}
	if r.Since > 0 {
		r.since = r.Now.Add(-time.Duration(r.Since))
		if from := r.last.From; !from.IsZero() && from.Before(r.since) {
			r.since = from
		}
	}
	r.report = &Report{Format: 1, DryRun: r.DryRun, At: r.Now.UTC().Format(time.RFC3339), Log: r.Log.String(), Deployed: Version{r.Deployed.String(), r.deployed.digest}}
	if r.candidate != nil {
		r.report.Candidate = &Version{r.Candidate.String(), r.candidate.digest}
	}
	return r.look(ctx)
}

// look surveys the log.
func (r *run) look(ctx context.Context) error {
	r.bar.Start(-1, "look at the log")
	defer r.bar.Done()
	since := int64(0)
	if !r.since.IsZero() {
		since = r.since.UnixMicro()
	}
	s, err := survey(ctx, r.Log.String(), r.deployed.Info, since, r.last.Seen.Last)
	if err != nil {
		return err
	}
	r.report.Survey = s
	r.saw = seen{Outcomes: s.Outcomes, Last: s.came, Deployed: r.deployed.digest, Settings: r.digest()}
	return nil
}

// decide takes the first step that ends the run.
func (r *run) decide(ctx context.Context) (*Report, error) {
	for _, step := range []func(context.Context) (*Report, error){r.tryCandidate, r.newOutcomes, r.checkSurvey, r.checkLog, r.learn} {
		if report, err := step(ctx); report != nil || err != nil {
			return report, err
		}
	}
	return nil, errors.New("no step of the run ended it") // learn always does
}

func (r *run) deployedName() string { return r.Deployed.Location().Base() }

func (r *run) candidateName() string { return r.Candidate.Location().Base() }

// tryCandidate looks at the trial of a candidate.
func (r *run) tryCandidate(ctx context.Context) (*Report, error) {
	if r.candidate == nil || !r.gated() {
		return nil, nil
	}
	t, why, err := trialOf(r.Log.String(), r.deployed, r.candidate, r.Gate, r.Now)
	if err != nil {
		return nil, err
	}
	if r.report.Trial = t; t == nil {
		r.report.Problems = append(r.report.Problems, Problem{Candidate, fmt.Sprintf("%s cannot be tried: %s", r.candidateName(), why), false})
		return nil, nil
	}
	switch {
	case t.Verdict == gate.Promote && r.Promote == PromoteFile:
		return r.promote(ctx, "its gate shows a gain of %.4f [%.4f, %.4f] per decision on which the two differ", t.Gain.Mean, t.Gain.Low, t.Gain.High)
	case t.Verdict == gate.Promote:
		return r.report.conclude(Nothing, "the gate promotes the candidate %s; the server, or promote: %s, puts it into the place of %s", r.candidateName(), PromoteFile, r.deployedName()), nil
	case t.Verdict == gate.Stop:
		r.last.stop(r.candidate.digest)
	case r.ReplaceRunning, slices.Contains(r.last.Stopped, r.candidate.digest):
	case t.Decisions == 0:
		return r.report.conclude(Nothing, "the candidate %s is in its place, and the log has no decision of it beside %s yet", r.candidateName(), r.deployedName()), nil
	default:
		return r.report.conclude(Nothing, "the candidate %s is on trial. %s", r.candidateName(), t.Next), nil
	}
	return nil, nil
}

// newOutcomes ends a run for which nothing has changed since the last one.
func (r *run) newOutcomes(context.Context) (*Report, error) {
	before := r.last.Seen
	if r.last.At.IsZero() || before.Deployed != r.saw.Deployed || before.Settings != r.saw.Settings || r.report.Survey.New >= r.NewOutcomes {
		return nil, nil
	}
	verdict := Nothing
	if r.last.Verdict == Refused {
		verdict = Refused
	}
	return r.report.conclude(verdict, "%d outcomes are new since %s, and new_outcomes is %d; then: %s", r.report.Survey.New, r.last.At.Format(time.RFC3339), r.NewOutcomes, r.last.Sentence), nil
}

// checkSurvey ends the run if the log has too little.
func (r *run) checkSurvey(context.Context) (*Report, error) {
	r.looked = true
	r.report.Problems = append(r.report.Problems, r.report.Survey.problems(r.deployed.digest, r.LeastRows)...)
	return r.refuse(), nil
}

func (r *run) refuse() *Report {
	if why := fatal(r.report.Problems); len(why) > 0 {
		return r.report.conclude(Refused, "the log cannot be learned from: %s", strings.Join(why, "; "))
	}
	return nil
}

// checkLog ends the run if the deployed policy itself cannot be judged by the log.
func (r *run) checkLog(ctx context.Context) (*Report, error) {
	o := r.evaluation(r.Deployed.Location().URL(), logFile)
	e, err := ope.Run(ctx, o, r.bar)
	if err != nil {
		return nil, err
	}
	r.report.Problems = append(r.report.Problems, problemsOf(e)...)
	return r.refuse(), nil
}

// evaluation are the options of judging a policy by the log against what made it.
func (r *run) evaluation(policy, file string) ope.Options {
	o := ope.DefaultOptions()
	o.Log, o.Policy, o.Since, o.Until, o.Money, o.NoFees = r.Log.Location(), policy, r.since, r.Now, r.Money, r.NoFees
	o.Level, o.Seed, o.Device = r.Level, r.Seed, r.Device
	if len(r.Losses) == 2 {
		o.Range = &[2]float64{r.Losses[0], r.Losses[1]}
	}
	if !r.DryRun {
		o.Out = r.in(file)
		r.report.Pages = append(r.report.Pages, file)
	}
	return o
}

// learn trains a policy, judges it, and puts it into its place.
func (r *run) learn(ctx context.Context) (_ *Report, err error) {
	work, remove, err := r.work(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r.step("train")
	d, path, err := r.train(ctx, work)
	if err != nil || path.IsZero() {
		return r.report, err
	}
	r.step("judge")
	if gains, err := r.judge(ctx, d, path); err != nil || !gains {
		return r.report, err
	}
	return r.place(ctx, path)
}

// work makes the folder of the training, without what a killed run left there.
func (r *run) work(ctx context.Context) (_ storage.Location, remove func() error, err error) {
	if r.DryRun {
		folder, remove, err := atomicfile.TempFolder("", "pipe-learn-")
		return storage.File(folder), remove, err
	}
	at := r.in(workFolder)
	remove = func() error { return os.RemoveAll(at.String()) }
	if err := remove(); err != nil {
		return at, remove, err
	}
	_, err = atomicfile.MkdirAllAt(ctx, at)
	return at, remove, err
}

// train trains against the deployed policy. The path is zero if that stays.
func (r *run) train(ctx context.Context, work storage.Location) (*fromlog.Decisions, storage.Location, error) {
	d, err := fromlog.Read(ctx, r.source())
	if err != nil {
		return nil, storage.Location{}, err
	}
	rt, err := ort.Open(r.Device)
	if err != nil {
		return nil, storage.Location{}, err
	}
	defer rt.Close()
	t, err := train.RunOnLog(ctx, rt, d, r.training(work), filepath.Join(work.String(), "checkpoints"), r.bar)
	if err != nil {
		return nil, storage.Location{}, err
	}
	r.report.Training = t
	if t.Stays() {
		_, why := t.Auto[0].Guard.Verdict()
		r.report.conclude(Nothing, "there is nothing to gain: the learned policy is not shown to be better than %s on the decisions that trained it: %s", r.deployedName(), why)
		return d, storage.Location{}, nil
	}
	return d, work.Join(t.Policies[0].File), nil
}

// source says which decisions are learned from.
func (r *run) source() fromlog.Options {
	o := fromlog.DefaultOptions()
	o.Log, o.Since, o.Until, o.Money, o.NoFees = r.Log.Location(), r.since, r.Now, r.Money, r.NoFees
	o.Validation, o.Test, o.Seed = 0, r.HeldOut, r.Seed
	return o
}

func (r *run) training(work storage.Location) train.Options {
	o := train.DefaultOptions()
	o.Log, o.Deployed, o.Out, o.Runtime = r.source(), r.Deployed.Location(), work, r.Device
	o.Lambdas, o.Methods, o.Auto, o.HalfLife, o.Seed, o.Split = []float64{r.deployed.Info.Lambda}, nil, r.Auto, r.HalfLife, r.Seed, "test"
	return o
}

// judge reports whether the gain over the deployed policy is shown on the decisions that did not train the new one.
func (r *run) judge(ctx context.Context, d *fromlog.Decisions, path storage.Location) (bool, error) {
	held := map[string]bool{}
	for _, n := range d.Tensor.Rows(costs.Test) {
		held[d.Tensor.IDs[n]] = true
	}
	o := r.evaluation(path.URL(), gainFile)
	o.Against, o.Only = r.Deployed.Location().URL(), func(id string) bool { return held[id] }
	gain, err := ope.Run(ctx, o, r.bar)
	if err != nil {
		return false, err
	}
	if r.report.Gain = gain; gain.Verdict != ope.Saves {
		r.report.conclude(Nothing, "there is nothing to gain that the log can show: %s", gain.Sentence)
		return false, nil
	}
	return true, nil
}

// place puts the new policy into the place of the candidate.
func (r *run) place(ctx context.Context, path storage.Location) (*Report, error) {
	f, err := openPolicy(ctx, path)
	if err != nil {
		return nil, err
	}
	switch {
	case slices.Contains(r.last.Stopped, f.digest):
		return r.report.conclude(Nothing, "the learned policy is one that the gate stopped: %s", f.digest), nil
	case r.candidate != nil && r.candidate.digest == f.digest:
		r.report.conclude(Nothing, "the candidate %s is the learned policy already: %s", r.candidateName(), r.report.Gain.Sentence)
	default:
		r.report.conclude(Placed, "%s is the new candidate: %s", r.candidateName(), r.report.Gain.Sentence)
		r.step("place")
		if !r.DryRun {
			if err := replace(ctx, f, r.Candidate.Location()); err != nil {
				return nil, err
			}
		}
	}
	r.candidate, r.report.Candidate = f, &Version{r.Candidate.String(), f.digest}
	if r.Promote == PromoteFile && !r.gated() {
		return r.promote(ctx, "%s", r.report.Gain.Sentence)
	}
	return r.report, nil
}

// promote puts the candidate into the place of the deployed policy, of which it keeps a copy.
func (r *run) promote(ctx context.Context, why string, args ...any) (*Report, error) {
	r.looked = true
	r.report.conclude(Promoted, "%s is now the policy of %s: %s", r.deployedName(), r.candidateName(), fmt.Sprintf(why, args...))
	if r.DryRun {
		return r.report, nil
	}
	if err := replace(ctx, r.deployed, r.in(previousFile)); err != nil {
		return nil, err
	}
	r.step("promote")
	if err := replace(ctx, r.candidate, r.Deployed.Location()); err != nil {
		return nil, err
	}
	r.saw.Deployed = r.candidate.digest
	return r.report, nil
}

// remember writes what the next run has to know, after the reports.
func (r *run) remember(ctx context.Context) error {
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{{pageFile, r.report.WriteHTML}, {reportFile, stage.Indented(r.report)}} {
		if err := atomicfile.WriteAt(ctx, r.in(f.name), f.write); err != nil {
			return err
		}
	}
	from := r.Now
	if r.report.Verdict == Refused {
		from = r.since
	}
	s := state{At: r.Now.UTC(), From: from.UTC(), Seen: r.saw, Verdict: r.report.Verdict, Sentence: r.report.Sentence, Stopped: r.last.Stopped}
	return s.write(ctx, r.in(stateFile))
}
