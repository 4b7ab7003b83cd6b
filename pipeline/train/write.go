package train

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/methods"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// DropPolicies removes policies listed in the train.json of an earlier training, but for those whose names stay, so that a
// folder does not contain the policies of two trainings.
func DropPolicies(folder string, stay map[string]bool) error {
	path := filepath.Join(folder, ReportFile)
	text, err := textfile.ReadFile(path, textfile.MaxConfig)
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
		file := filepath.Join(folder, p.File)
		if err := decide.RemoveDescription(file); err != nil {
			return err
		}
		if err := storage.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// trained returns the report line and file name of a policy.
func (o Options) trained(p *policy.Policy) Policy {
	line := Policy{Method: p.Method}
	switch {
	case p.Estimate != nil && p.Estimate.Prices != nil:
		line.Prices = p.Estimate.Prices
	case !methods.Named(p.Method, o.Own...).NoAdvice:
		line.Lambda = report.Num(p.Lambda)
	}
	if s, err := strconv.ParseUint(p.Info[policy.SeedKey], 10, 64); err == nil {
		line.Seed = &s
	}
	if p.Decoder == policy.DecoderFixed {
		line.Fallback = p.Actions.Name(p.Fixed)
	}
	if g := new(policy.Guard); line.Prices != nil && json.Unmarshal([]byte(p.Info[policy.GuardKey]), g) == nil && g.Fallback {
		line.Fallback = "the best fixed pair of the price"
	}
	line.File = policyName(line)
	return line
}

// writePolicy exports a policy with its validation loss and writes its file.
func writePolicy(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, o Options, p *policy.Policy) (Policy, error) {
	line := o.trained(p)
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return line, err
	}
	if rows := t.CompleteRows(t.Rows(split)); len(rows) > 0 {
		l, err := replay.Exported(ctx, rt, p, t, rows)
		if err != nil {
			return line, err
		}
		line.TrueLoss = report.Num(t.TrueLoss(rows, l.Action, p.Lambda))
		p.Info["validation"] = stage.JSON(map[string]any{"split": o.Split, "rows": len(rows), "true_loss": line.TrueLoss, "lambda": p.Lambda})
	}
	m, err := p.Export()
	if err != nil {
		return line, err
	}
	_, err = decide.WritePolicy(filepath.Join(o.Out, line.File), m)
	return line, err
}

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
