package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// warmPolicy is an older policy that is a candidate beside the new one.
type warmPolicy struct {
	file    string
	model   *onnx.Model
	decider *policy.Decider
}

// openWarm opens the older policy of o and decides the training rows. The caller closes the decider.
func openWarm(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, o Options) (w *warmPolicy, candidate *auto.Warm, err error) {
	f, d, err := replay.OpenPolicy(rt, o.Warm, t)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	info := d.Info()
	until, told := info.Until()
	switch {
	case info.Prices != nil:
		return nil, nil, &stage.OptionError{Err: fmt.Errorf("warm: %q is an any-price policy; only policies of one lambda are compared", o.Warm)}
	case !slices.Contains(o.Lambdas, info.Lambda):
		return nil, nil, &stage.OptionError{Err: fmt.Errorf("warm: %q is for lambda %g, and policies are trained for %v", o.Warm, info.Lambda, o.Lambdas)}
	case !told:
		return nil, nil, &costs.DataError{File: o.Warm, Msg: "does not say until when its training rows go, because its table had no times: which rows it did not learn from cannot be told"}
	case t.Times == nil:
		return nil, nil, &costs.DataError{File: o.Tensor, Column: "time", Msg: "is missing: which rows an older policy did not learn from is told by their times"}
	}
	l, err := replay.At(ctx, d, info.PriceAt(info.Actions, info.Lambda), t, t.Rows(costs.Train))
	if err != nil {
		return nil, nil, err
	}
	w = &warmPolicy{file: o.Warm, model: f.Model(), decider: d}
	return w, &auto.Warm{Lambda: info.Lambda, Until: until, Actions: l.Action}, nil
}

// write writes the older policy in place of a new one, with how they compared in its metadata.
func (w *warmPolicy) write(ctx context.Context, t *costs.Tensor, o Options, p *policy.Policy, r auto.WarmReport) (Policy, error) {
	line := o.trained(p)
	line.Fallback, line.Warm = "", w.file
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return line, err
	}
	if rows := t.CompleteRows(t.Rows(split)); len(rows) > 0 {
		info := w.decider.Info()
		l, err := replay.At(ctx, w.decider, info.PriceAt(info.Actions, info.Lambda), t, rows)
		if err != nil {
			return line, err
		}
		line.TrueLoss = report.Num(t.TrueLoss(rows, l.Action, p.Lambda))
	}
	about, err := json.Marshal(r)
	if err != nil {
		return line, err
	}
	policy.Annotate(w.model, policy.WarmKey, string(about))
	_, err = decide.WritePolicy(filepath.Join(o.Out, line.File), w.model)
	return line, err
}
