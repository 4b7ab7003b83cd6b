package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
)

// warmPolicy is an older policy that is a candidate beside the new one.
type warmPolicy struct {
	file    string
	model   *onnx.Model
	decider *policy.Decider
}

// openWarm opens the older policy and decides the training rows. The caller closes the decider.
func (j job) openWarm(ctx context.Context) (w *warmPolicy, candidate *auto.Warm, err error) {
	f, d, err := replay.OpenPolicy(ctx, j.rt, j.Warm, j.t)
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
		return nil, nil, &stage.OptionError{Err: fmt.Errorf("warm: %q is an any-price policy; only policies of one lambda are compared", j.Warm)}
	case !slices.Contains(j.Lambdas, info.Lambda):
		return nil, nil, &stage.OptionError{Err: fmt.Errorf("warm: %q is for lambda %g, and policies are trained for %v", j.Warm, info.Lambda, j.Lambdas)}
	case !told:
		return nil, nil, &costs.DataError{File: j.Warm.String(), Msg: "does not say until when its training rows go, because its table had no times: which rows it did not learn from cannot be told"}
	case j.t.Times == nil:
		return nil, nil, &costs.DataError{File: j.Tensor.String(), Column: "time", Msg: "is missing: which rows an older policy did not learn from is told by their times"}
	}
	w = &warmPolicy{file: j.Warm.String(), model: f.Model(), decider: d}
	l, err := w.decide(ctx, j.t, j.t.Rows(costs.Train))
	if err != nil {
		return nil, nil, err
	}
	return w, &auto.Warm{Lambda: info.Lambda, Until: until, Actions: l.Action}, nil
}

// decide are the decisions of the older policy on rows of t, at its own prices.
func (w *warmPolicy) decide(ctx context.Context, t *costs.Tensor, rows []int) (replay.Decisions, error) {
	info := w.decider.Info()
	return replay.At(ctx, w.decider, info.PriceAt(info.Actions, info.Lambda, nil), t, rows)
}
