package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/costs/prices"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/calibrate"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/stage"
)

// Run trains policies on the tensor's training rows and writes one ONNX file with its description each, and train.json, into o.Out. If an
// interrupted run is started again, it continues from its checkpoints, which are removed at the end. Policies of an
// earlier training in the folder, as listed in its train.json, are removed. If another run is using the folder, the
// error is a *stage.InUseError.
func Run(ctx context.Context, o Options, progress stage.Progress) (*Report, error) {
	j, err := o.jobOnFiles(ctx)
	if err != nil {
		return nil, err
	}
	return stage.Alone(o.Out, func() (*Report, error) { return j.onFile(ctx, stage.OrQuiet(progress)) })
}

func (j job) onFile(ctx context.Context, progress stage.Progress) (*Report, error) {
	start := time.Now()
	progress.Start(-1, "read costs")
	defer progress.Done()
	if err := j.open(ctx); err != nil {
		return nil, err
	}
	defer j.rt.Close()
	work, err := j.Out.Work()
	if err != nil {
		return nil, err
	}
	r, err := j.into(ctx, j.Out, filepath.Join(work, "checkpoints"), progress)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// RunOn trains on a tensor in memory, which the report calls o.Tensor, and writes policies and train.json into
// o.Out. It removes the checkpoint folder when everything is done. A tensor that is not valid is an
// error of costs.Tensor.Validate.
func RunOn(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, o Options, checkpoints string, progress stage.Progress) (*Report, error) {
	j, err := o.jobOn(rt, t)
	if err != nil {
		return nil, err
	}
	return j.into(ctx, o.Out, checkpoints, stage.OrQuiet(progress))
}

// RunOnLog trains on the decisions of the log o.Log.Log in memory, and writes policies and train.json into o.Out. It removes the
// checkpoint folder when everything is done. Errors are those of Run.
func RunOnLog(ctx context.Context, rt *ort.Runtime, d *fromlog.Decisions, o Options, checkpoints string, progress stage.Progress) (*Report, error) {
	j, err := o.job()
	if err != nil {
		return nil, err
	}
	if j.rt = rt; rt == nil {
		return nil, ort.ErrNoRuntime
	}
	if err := j.take(d); err != nil {
		return nil, err
	}
	return j.into(ctx, o.Out, checkpoints, stage.OrQuiet(progress))
}

// Policies trains everything that c specifies on a tensor in memory: the policies of the recipe, then those of the
// other methods. The checkpoints of every method are in a folder with its name. A tensor that is not valid is an error of
// costs.Tensor.Validate; without training rows, the error is a *costs.DataError.
func Policies(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, c Settings, save models.CheckpointPolicy, progress stage.Progress) ([]*policy.Policy, []auto.Report, error) {
	j, err := Options{Settings: c, Split: costs.Val.String()}.jobOn(rt, t)
	if err != nil {
		return nil, nil, err
	}
	progress = stage.OrQuiet(progress)
	if err := j.ready(progress); err != nil {
		return nil, nil, err
	}
	return j.policies(ctx, save, progress)
}

// into is RunOn for a job, with another folder for the policies and train.json.
func (j job) into(ctx context.Context, out storage.Location, checkpoints string, progress stage.Progress) (_ *Report, err error) {
	j.Out = out
	for _, folder := range []storage.Location{out, storage.File(checkpoints)} {
		if _, err := atomicfile.MkdirAllAt(ctx, folder); err != nil {
			return nil, err
		}
	}
	repeats := costs.RepeatsIn(j.t, j.Auto.Apart, slices.Compact([]costs.Split{costs.Train, j.split})...)
	if note := outcome.Unserved(j.t); note != "" {
		progress.Note("%s", note)
	}
	for _, note := range costs.RepeatNotes(repeats) {
		progress.Note("%s", note)
	}
	if j.promises() { // what cannot be kept is said before hours of training
		early, err := calibrate.Possible(j.t, j.split, j.Guarantee)
		if err != nil {
			return nil, fmt.Errorf("train on %q: %w", j.source(), err)
		}
		progress.Note("%s", early)
	}
	var warm *warmPolicy
	if !j.Warm.IsZero() {
		if warm, j.Auto.Warm, err = j.openWarm(ctx); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, warm.decider.Close()) }()
	}
	if j.Auto.Deployed, err = j.openDeployed(ctx); err != nil {
		return nil, err
	}
	save := models.CheckpointPolicy{Dir: checkpoints, Every: 20 * time.Second}
	var cascades []trainedCascade
	var policies []*policy.Policy
	var reports []auto.Report
	if err = j.ready(progress); err == nil {
		cascades, err = j.cascades(ctx, save, progress) // first, since what they need of a table is checked when their training begins
	}
	if err == nil {
		policies, reports, err = j.policies(ctx, save, progress)
	}
	if err != nil {
		_ = os.Remove(checkpoints) // removed only if empty
		if errors.Is(err, models.ErrOtherCheckpoint) {
			err = fmt.Errorf("%w; repeat the command that was interrupted, or remove %q", err, checkpoints)
		}
		return nil, fmt.Errorf("train on %q: %w", j.source(), err)
	}
	r := &Report{Format: 1, Tensor: j.source().String(), Log: j.window, Rows: len(j.t.Rows(costs.Train)), Repeats: repeats, Auto: reports, Notes: j.idle(j.t, policies)}
	if !j.PriceFile.IsZero() {
		r.Notes = append(r.Notes, prices.Note(j.PriceFile))
	}
	if r.Policies, err = j.write(ctx, policies, cascades, reports, warm, progress); err != nil {
		return nil, err
	}
	for _, c := range cascades {
		r.Cascades = append(r.Cascades, c.report)
	}
	if err := atomicfile.WriteAt(ctx, out.Join(ReportFile), r.WriteJSON); err != nil {
		return nil, err
	}
	return r, os.RemoveAll(checkpoints)
}

// ready reports what cannot be trained on the table, before anything is trained. It leaves out methods by default that cannot be.
func (j *job) ready(progress stage.Progress) (err error) {
	if len(j.t.Rows(costs.Train)) == 0 {
		return &costs.DataError{Column: "split", Msg: "there are no training rows"}
	}
	if err := j.checkFacts(); err != nil {
		return err
	}
	if j.others, err = j.trainable(progress); err != nil {
		return err
	}
	if j.Recipe == auto.Name {
		if err := j.Auto.Ready(j.t.Actions.Len()); err != nil {
			return fmt.Errorf("auto: %w", err)
		}
	}
	return nil
}

// policies trains the policies of the recipe, then those of the other methods.
func (j job) policies(ctx context.Context, save models.CheckpointPolicy, progress stage.Progress) ([]*policy.Policy, []auto.Report, error) {
	o := models.Options{Runtime: j.rt, Save: save, Progress: func(n int) { progress.Add(int64(n)) }}
	o.Stage = func(name string, steps int) { progress.Start(int64(steps), "train "+name) }
	var more []*policy.Policy
	for _, m := range j.others {
		o.Save = folder(save, m.Name)
		trained, err := paper.Train(ctx, j.t, m, j.Lambdas, j.Settings.Settings, o)
		if err != nil {
			return nil, nil, fmt.Errorf("method %s: %w", m.Name, err)
		}
		more = append(more, trained...)
	}
	policies, reports, err := j.trainRecipe(ctx, save, o, progress)
	if err != nil {
		return nil, nil, err
	}
	progress.Done()
	policies = append(policies, more...)
	for _, p := range policies {
		if p != nil { // the deployed policy stays
			j.about(p)
		}
	}
	return policies, reports, nil
}

// trainable are the methods besides the recipe's own. Methods by default are left out where they cannot be trained.
func (j job) trainable(progress stage.Progress) ([]models.Method, error) {
	if len(j.others) == 0 {
		return nil, nil
	}
	names := strings.Join(j.Methods, ", ")
	if j.t.UnknownCells() > 0 {
		if slices.Equal(j.Methods, DefaultSettings().Methods) {
			progress.Note("%s is left out: it needs all outcomes, and some are unknown", names)
			return nil, nil
		}
		return nil, &stage.OptionError{Err: fmt.Errorf("methods: %s need all outcomes, and some are unknown; only the recipe auto learns from such rows", names)}
	}
	if j.HalfLife > 0 {
		progress.Note("%s counts all rows alike: half_life is of the recipe auto", names)
	}
	for _, m := range j.others {
		if err := m.Fits(j.t.Actions); err != nil {
			return nil, &stage.OptionError{Err: fmt.Errorf("method %s: %w", m.Name, err)}
		}
	}
	return j.others, nil
}

// trainRecipe trains the recipe's own method.
func (j job) trainRecipe(ctx context.Context, save models.CheckpointPolicy, o models.Options, progress stage.Progress) (_ []*policy.Policy, _ []auto.Report, err error) {
	if j.othersOnly {
		return nil, nil, nil
	}
	if j.Recipe == paper.Name {
		ours, err := models.MethodNamed(models.Ours)
		if err != nil {
			return nil, nil, err
		}
		o.Save = folder(save, ours.Name)
		policies, err := paper.Train(ctx, j.t, ours, j.Lambdas, j.Settings.Settings, o)
		return policies, nil, err
	}
	o.Save = folder(save, auto.Name)
	o.Stage = func(name string, steps int) { progress.Start(int64(steps), "train auto: "+name) }
	s := j.Auto
	s.Seed, s.HalfLife, s.KeepEstimates = j.Seed, j.HalfLife, j.promises()
	if !j.AnyPrice {
		return auto.Train(ctx, j.t, j.Lambdas, s, o)
	}
	if s.Usage, err = usagePrices(j.t, progress); err != nil {
		return nil, nil, err
	}
	p, r, err := auto.TrainAnyPrice(ctx, j.t, j.Prices, s, o)
	return []*policy.Policy{p}, []auto.Report{r}, err
}
