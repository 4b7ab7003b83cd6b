package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/pipeline/calibrate"
	"pipe/pipeline/decide"
	"pipe/pipeline/methods"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// dropPolicies removes policies listed in the train.json of an earlier training, but for those whose names stay, so that a
// folder does not contain the policies of two trainings.
func dropPolicies(ctx context.Context, folder storage.Location, stay map[string]bool) error {
	path := folder.Join(ReportFile)
	text, err := textfile.ReadFileAt(ctx, path, textfile.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var before Report
	if err != nil || json.Unmarshal(text, &before) != nil {
		return err // an invalid report lists no policies
	}
	for _, p := range before.Policies {
		if stay[p.File] || p.File != filepath.Base(p.File) || filepath.Ext(p.File) != ".onnx" {
			continue
		}
		file := folder.Join(p.File)
		if err := decide.RemoveDescription(ctx, file); err != nil {
			return err
		}
		if err := file.Remove(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// trained returns the report line and file name of a policy.
func (c Settings) trained(p *policy.Policy) Policy {
	line := Policy{Method: p.Method}
	switch {
	case p.Estimate != nil && p.Estimate.Prices != nil:
		line.Prices = p.Estimate.Prices
	case !methods.Named(p.Method, c.Own...).NoAdvice:
		line.Lambda = report.Num(p.Lambda)
	}
	if s, err := strconv.ParseUint(p.Info[policy.SeedKey], 10, 64); err == nil {
		line.Seed = &s
	}
	if p.Decoder == policy.DecoderFixed {
		line.Fallback = p.Actions.Name(p.Fixed)
	}
	if g := new(policy.Guard); p.Estimate != nil && json.Unmarshal([]byte(p.Info[policy.GuardKey]), g) == nil && g.Fallback {
		line.Fallback = g.Fixed
		if line.Prices != nil {
			line.Fallback = "the best fixed pair of the price"
		}
	}
	line.File = policyName(line)
	return line
}

// made is a policy or a cascade that was not written yet, and its line in the report.
type made struct {
	line  Policy
	model *onnx.Model // nil: the deployed policy stays
}

// write writes the files of policies, in place of those of an earlier training. All are made before the first is written: one that cannot
// keep a promise leaves no half.
func (j job) write(ctx context.Context, policies []*policy.Policy, cascades []trainedCascade, reports []auto.Report, warm *warmPolicy, progress stage.Progress) ([]Policy, error) {
	progress.Start(int64(len(policies)+len(cascades)), "write policies")
	defer progress.Done()
	var all []made
	for i, p := range policies {
		var m made
		var err error
		switch {
		case p == nil:
			m.line = j.stays(reports[i].Lambda)
		case i < len(reports) && reports[i].Warm != nil && reports[i].Warm.Used:
			m, err = j.makeWarm(ctx, p, warm, *reports[i].Warm)
		default:
			m, err = j.makePolicy(ctx, p)
		}
		if err != nil {
			return nil, err
		}
		progress.Add(1)
		all = append(all, m)
	}
	for i, c := range cascades {
		m, err := j.makeCascade(ctx, c)
		if err != nil {
			return nil, err
		}
		progress.Add(1)
		all = slices.Insert(all, len(reports)+i, m) // behind the policies of the recipe, as in shards
	}
	return j.writeAll(ctx, all)
}

// writeAll writes files that were made.
func (j job) writeAll(ctx context.Context, all []made) (lines []Policy, err error) {
	stay := map[string]bool{}
	for _, m := range all {
		lines = append(lines, m.line)
		if m.model != nil {
			stay[m.line.File] = true
		}
	}
	if err := dropPolicies(ctx, j.Out, stay); err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.model == nil {
			continue
		}
		if _, err := decide.WritePolicy(ctx, j.Out.Join(m.line.File), m.model); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

// makePolicy exports a policy with its validation loss.
func (j job) makePolicy(ctx context.Context, p *policy.Policy) (made, error) {
	line := j.trained(p)
	if rows := j.judging(); len(rows) > 0 {
		l, err := replay.Exported(ctx, j.rt, p, j.t, rows)
		if err != nil {
			return made{}, err
		}
		line.TrueLoss = report.Num(j.t.TrueLoss(rows, l.Action, p.Lambda))
		p.Info["validation"] = stage.JSON(map[string]any{"split": j.Split, "rows": len(rows), "true_loss": line.TrueLoss, "lambda": p.Lambda})
	}
	m, err := p.Export()
	if err == nil && j.promises() && p.Method == auto.Name {
		m, err = j.promise(ctx, m, &line)
	}
	return made{line, m}, err
}

// makeWarm is the older policy in place of a new one, with how they compared in its metadata.
func (j job) makeWarm(ctx context.Context, p *policy.Policy, w *warmPolicy, r auto.WarmReport) (made, error) {
	line := j.trained(p)
	line.Fallback, line.Warm = "", w.file
	if rows := j.judging(); len(rows) > 0 {
		l, err := w.decide(ctx, j.t, rows)
		if err != nil {
			return made{}, err
		}
		line.TrueLoss = report.Num(j.t.TrueLoss(rows, l.Action, p.Lambda))
	}
	about, err := json.Marshal(r)
	if err != nil {
		return made{}, err
	}
	policy.Annotate(w.model, policy.WarmKey, string(about))
	return made{line, w.model}, nil
}

// judging are the rows of the losses in the report.
func (j job) judging() []int { return j.t.CompleteRows(j.t.Rows(j.split)) }

// policyName is METHOD[-lambdaL or -any-price][-seedS].onnx.
func policyName(p Policy) string {
	name := p.Method
	if p.Prices != nil {
		name += "-any-price"
	}
	if p.Lambda != nil {
		name += "-lambda" + strconv.FormatFloat(*p.Lambda, 'g', -1, 64)
	}
	if p.Seed != nil {
		name += "-seed" + strconv.FormatUint(*p.Seed, 10)
	}
	return name + ".onnx"
}

// promise adds the guarantee to a policy or a cascade. The error names the file: another one may keep the promise.
func (j job) promise(ctx context.Context, m *onnx.Model, line *Policy) (*onnx.Model, error) {
	m, r, err := calibrate.Policy(ctx, j.rt, m, j.t, j.split, j.Guarantee)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", line.File, err)
	}
	line.Guarantee = r
	return m, nil
}
