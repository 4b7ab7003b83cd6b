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
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
)

// Run trains policies on the tensor's training rows and writes one ONNX file with its description each, and train.json, into o.Out. If an
// interrupted run is started again, it continues from its checkpoints, which are removed at the end. Policies of an
// earlier training in the folder, as listed in its train.json, are removed. If another run is using the folder, the
// error is a *stage.InUseError.
func Run(ctx context.Context, o Options, progress stage.Progress) (*Report, error) {
	progress = stage.OrQuiet(progress)
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.Files().Check(); err != nil {
		return nil, err
	}
	return stage.Alone(o.Out, func() (*Report, error) { return trainTensor(ctx, o, progress) })
}

func trainTensor(ctx context.Context, o Options, progress stage.Progress) (*Report, error) {
	start := time.Now()
	progress.Start(-1, "read costs")
	defer progress.Done()
	t, err := costs.Read(o.Tensor, costs.ReadOptions{Actions: o.Actions, Unknown: o.Recipe == auto.Name})
	if err != nil {
		return nil, err
	}
	rt, err := ort.Open(o.Runtime)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	work, err := storage.Work(o.Out)
	if err != nil {
		return nil, err
	}
	r, err := RunOn(ctx, rt, t, o, filepath.Join(work, "checkpoints"), progress)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// RunOn trains on a tensor in memory, which the report calls o.Tensor, and writes policies and train.json into
// o.Out. It removes the checkpoint folder when everything is done. A tensor that is not valid is an
// error of costs.Tensor.Validate.
func RunOn(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, o Options, checkpoints string, progress stage.Progress) (_ *Report, err error) {
	progress = stage.OrQuiet(progress)
	if err := o.checkTensor(rt, t, o.Validate()); err != nil {
		return nil, err
	}
	for _, folder := range []string{o.Out, checkpoints} {
		if _, err := atomicfile.MkdirAll(folder); err != nil {
			return nil, err
		}
	}
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return nil, err
	}
	repeats := costs.RepeatsIn(t, slices.Compact([]costs.Split{costs.Train, split})...)
	if note := outcome.Unserved(t); note != "" {
		progress.Note("%s", note)
	}
	for _, note := range costs.RepeatNotes(repeats) {
		progress.Note("%s", note)
	}
	var warm *warmPolicy
	if o.Warm != "" {
		if warm, o.Auto.Warm, err = openWarm(ctx, rt, t, o); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, warm.decider.Close()) }()
	}
	save := models.CheckpointPolicy{Dir: checkpoints, Every: 20 * time.Second}
	policies, reports, err := Policies(ctx, rt, t, o.Settings, save, progress)
	if err != nil {
		_ = os.Remove(checkpoints) // removed only if empty
		if errors.Is(err, models.ErrOtherCheckpoint) {
			err = fmt.Errorf("%w; repeat the command that was interrupted, or remove %q", err, checkpoints)
		}
		return nil, fmt.Errorf("train on %q: %w", o.Tensor, err)
	}
	r := &Report{Format: 1, Tensor: o.Tensor, Rows: len(t.Rows(costs.Train)), Repeats: repeats, Auto: reports, Notes: o.idle(t)}
	stay := map[string]bool{}
	for _, p := range policies {
		stay[o.trained(p).File] = true
	}
	if err := DropPolicies(o.Out, stay); err != nil {
		return nil, err
	}
	progress.Start(int64(len(policies)), "write policies")
	defer progress.Done()
	for i, p := range policies {
		var line Policy
		if i < len(reports) && reports[i].Warm != nil && reports[i].Warm.Used {
			line, err = warm.write(ctx, t, o, p, *reports[i].Warm)
		} else {
			line, err = writePolicy(ctx, rt, t, o, p)
		}
		if err != nil {
			return nil, err
		}
		progress.Add(1)
		r.Policies = append(r.Policies, line)
	}
	if err := atomicfile.Write(filepath.Join(o.Out, ReportFile), r.WriteJSON); err != nil {
		return nil, err
	}
	return r, os.RemoveAll(checkpoints)
}

// Policies trains everything that c specifies on a tensor in memory: the policies of the recipe, then those of the
// other methods. The checkpoints of every method are in a folder with its name. A tensor that is not valid is an error of
// costs.Tensor.Validate; without training rows, the error is a *costs.DataError.
func Policies(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, c Settings, save models.CheckpointPolicy, progress stage.Progress) ([]*policy.Policy, []auto.Report, error) {
	progress = stage.OrQuiet(progress)
	if err := c.checkTensor(rt, t, c.Validate()); err != nil {
		return nil, nil, err
	}
	if len(t.Rows(costs.Train)) == 0 {
		return nil, nil, &costs.DataError{Column: "split", Msg: "there are no training rows"}
	}
	others, err := c.OtherMethods(t, progress)
	if err != nil {
		return nil, nil, err
	}
	if c.Recipe == auto.Name {
		if err := c.Auto.Ready(t.Actions.Len()); err != nil {
			return nil, nil, fmt.Errorf("auto: %w", err)
		}
	}
	o := models.Options{Runtime: rt, Save: save, Progress: func(n int) { progress.Add(int64(n)) }}
	o.Stage = func(name string, steps int) { progress.Start(int64(steps), "train "+name) }
	// The other methods come first, so that a method that cannot be trained for the actions is reported before the long
	// search.
	var more []*policy.Policy
	for _, m := range others {
		o.Save = folder(save, m.Name)
		trained, err := paper.Train(ctx, t, m, c.Lambdas, c.Settings, o)
		if err != nil {
			return nil, nil, fmt.Errorf("method %s: %w", m.Name, err)
		}
		more = append(more, trained...)
	}
	policies, reports, err := trainRecipe(ctx, t, c, save, o, progress)
	if err != nil {
		return nil, nil, err
	}
	progress.Done()
	return append(policies, more...), reports, nil
}

// checkTensor checks a tensor in memory. Recipe auto can use unknown outcomes.
func (c Settings) checkTensor(rt *ort.Runtime, t *costs.Tensor, options error) error {
	switch {
	case options != nil:
		return options
	case c.Recipe != auto.Name:
		return replay.Check(rt, t, nil)
	case rt == nil:
		return ort.ErrNoRuntime
	}
	return t.ValidatePartial()
}

// OtherMethods are those besides the recipe's own. Methods by default are left out where they cannot be trained.
func (c Settings) OtherMethods(t *costs.Tensor, progress stage.Progress) ([]models.Method, error) {
	a, out := t.Actions, []models.Method(nil)
	if len(c.Methods) > 0 && t.UnknownCells() > 0 {
		if slices.Equal(c.Methods, DefaultSettings().Methods) {
			progress.Note("%s is left out: it needs all outcomes, and some are unknown", strings.Join(c.Methods, ", "))
			return nil, nil
		}
		return nil, &stage.OptionError{Err: fmt.Errorf("methods: %s need all outcomes, and some are unknown; only the recipe auto learns from such rows", strings.Join(c.Methods, ", "))}
	}
	if len(c.Methods) > 0 && c.HalfLife > 0 {
		progress.Note("%s counts all rows alike: half_life is of the recipe auto", strings.Join(c.Methods, ", "))
	}
	for _, name := range c.Methods {
		m, err := models.MethodNamed(name, c.Own...)
		if err == nil {
			err = m.Fits(a)
		}
		if err != nil {
			return nil, &stage.OptionError{Err: fmt.Errorf("method %s: %w", name, err)}
		}
		out = append(out, m)
	}
	return out, nil
}

// trainRecipe trains the recipe's own method.
func trainRecipe(ctx context.Context, t *costs.Tensor, c Settings, save models.CheckpointPolicy, o models.Options, progress stage.Progress) ([]*policy.Policy, []auto.Report, error) {
	if c.OthersOnly {
		return nil, nil, nil
	}
	if c.Recipe == paper.Name {
		ours, err := models.MethodNamed(models.Ours)
		if err != nil {
			return nil, nil, err
		}
		o.Save = folder(save, ours.Name)
		policies, err := paper.Train(ctx, t, ours, c.Lambdas, c.Settings, o)
		return policies, nil, err
	}
	o.Save = folder(save, auto.Name)
	o.Stage = func(name string, steps int) { progress.Start(int64(steps), "train auto: "+name) }
	s := c.Auto
	s.Seed, s.HalfLife = c.Seed, c.HalfLife
	if !c.AnyPrice {
		return auto.Train(ctx, t, c.Lambdas, s, o)
	}
	p, r, err := auto.TrainAnyPrice(ctx, t, c.Prices, s, o)
	return []*policy.Policy{p}, []auto.Report{r}, err
}

func folder(p models.CheckpointPolicy, name string) models.CheckpointPolicy {
	if p.Dir != "" {
		p.Dir = filepath.Join(p.Dir, name)
	}
	return p
}
