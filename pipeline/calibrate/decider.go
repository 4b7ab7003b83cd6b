package calibrate

import (
	"context"
	"errors"

	"pipe/costs"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
)

// decider decides rows of a table for a guarantee. Scores are the losses that are expected of the decided pairs.
type decider interface {
	info() *policy.Info // names, fees, and the range of the prices
	at(ctx context.Context, t *costs.Tensor, rows []int, p *policy.Prices) (actions []int, scores []float32, err error)
	// atRandom decides every row at its own price.
	atRandom(ctx context.Context, t *costs.Tensor, rows []int, p []*policy.Prices) (actions []int, scores []float32, err error)
	withGuarantee(m *onnx.Model, g policy.Guarantee) (*onnx.Model, error)
	Close() error
}

// open opens a policy or a cascade.
func open(rt *ort.Runtime, m *onnx.Model) (decider, error) {
	d, err := policy.NewDecider(rt, m)
	var not *policy.CascadeError
	if !errors.As(err, &not) {
		return once{d}, err
	}
	c, err := cascade.NewDecider(rt, m)
	return staged{c}, err
}

// once is a policy that decides once. One that estimates no losses expects 0 of every pair, so that it accepts all rows or none.
type once struct{ *policy.Decider }

func (d once) info() *policy.Info { return d.Info() }

func (d once) at(ctx context.Context, t *costs.Tensor, rows []int, p *policy.Prices) (actions []int, scores []float32, err error) {
	l, err := replay.At(ctx, d.Decider, p, t, rows)
	if err != nil {
		return nil, nil, err
	}
	actions, scores = scored(l, t.Actions.Len())
	return actions, scores, nil
}

func scored(l replay.Decisions, pairs int) (actions []int, scores []float32) {
	scores = make([]float32, len(l.Action))
	for m, action := range l.Action {
		if l.Loss != nil {
			scores[m] = l.Loss[m*pairs+action]
		}
	}
	return l.Action, scores
}

func (d once) withGuarantee(m *onnx.Model, g policy.Guarantee) (*onnx.Model, error) {
	return policy.WithGuarantee(m, g)
}

// staged is a cascade: what it decides is the answer that it accepts in the end.
type staged struct{ *cascade.Decider }

func (d staged) info() *policy.Info {
	i := d.Info()
	return &policy.Info{Actions: i.Actions, Dim: i.Dim, Lambda: i.Lambda, Prices: i.Prices}
}

func (d staged) at(ctx context.Context, t *costs.Tensor, rows []int, p *policy.Prices) (actions []int, scores []float32, err error) {
	l, err := cascade.Play(ctx, d.Decider, t, rows, p)
	if err != nil {
		return nil, nil, err
	}
	return l.Accepted, l.Expected, nil
}

func (d staged) atRandom(context.Context, *costs.Tensor, []int, []*policy.Prices) (actions []int, scores []float32, err error) {
	return nil, nil, &stage.OptionError{Err: errors.New("random prices: a cascade has a guarantee at stated prices, not at random ones")}
}

func (d staged) withGuarantee(m *onnx.Model, g policy.Guarantee) (*onnx.Model, error) {
	return cascade.WithGuarantee(m, g)
}
