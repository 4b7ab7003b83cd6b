package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/methods"
)

// anyPrice is an any-price policy that decides the reported rows at the prices that are asked.
type anyPrice struct {
	decider *policy.Decider
	info    *policy.Info // of the file
	t       *costs.Tensor
	rows    []int
}

// newAnyPrice stands in reports for an any-price policy, which has not decided yet. It has its name in reports, and the
// fees of the tensor: true losses count these.
func newAnyPrice(d *policy.Decider, t *costs.Tensor, rows []int) Learned {
	info := *d.Info()
	info.Method, info.Actions, info.Guard = methods.AnyPrice, t.Actions, nil
	return Learned{Info: &info, prices: &anyPrice{d, d.Info(), t, rows}}
}

// at are the decisions at the fees of a, with the lambda of the report.
func (p *anyPrice) at(ctx context.Context, l Learned, a *costs.Actions, lambda float64) (Learned, error) {
	out, err := decideRows(ctx, p.decider, p.info.PriceAt(a, lambda), p.t, p.rows)
	if err != nil {
		return out, fmt.Errorf("policy %q: %w", l.File, err)
	}
	info := *l.Info
	info.Lambda = lambda
	out.Info, out.File, out.Digest = &info, l.File, l.Digest
	return out, nil
}

// openReported is openLearned for a report, in which an any-price policy decides at all prices of the report.
func openReported(ctx context.Context, rt *ort.Runtime, file string, t *costs.Tensor, rows []int) (Learned, error) {
	f, d, err := openPolicy(rt, file, t)
	if err != nil {
		return Learned{}, err
	}
	if d.Info().Prices == nil {
		if err := d.Close(); err != nil {
			return Learned{}, err
		}
		return openLearned(ctx, rt, file, t, rows)
	}
	l := newAnyPrice(d, t, rows)
	return l, l.identify(f, file)
}

// reported is openReported for a policy in memory.
func reported(ctx context.Context, rt *ort.Runtime, p *policy.Policy, t *costs.Tensor, rows []int) (Learned, error) {
	if p.Estimate == nil || p.Estimate.Prices == nil {
		return exportAndDecide(ctx, rt, p, t, rows)
	}
	m, err := p.Export()
	if err != nil {
		return Learned{}, err
	}
	d, err := policy.NewDecider(rt, m)
	if err != nil {
		return Learned{}, err
	}
	return newAnyPrice(d, t, rows), nil
}

// closeAll closes the policies that decide at many prices.
func closeAll(learned []Learned) error {
	var errs []error
	for _, l := range learned {
		if l.prices != nil {
			errs = append(errs, l.prices.decider.Close())
		}
	}
	return errors.Join(errs...)
}

// decideBatch decides at prices, which only an any-price policy can choose.
func decideBatch(ctx context.Context, d *policy.Decider, p *policy.Pricing, features []float32, n int) (*policy.Decisions, error) {
	if d.Info().Prices == nil {
		return d.Decide(ctx, features, n)
	}
	return d.DecideAt(ctx, p.Prices(), features, n)
}

// decideAt adds the decisions of the any-price policies at every lambda of the report.
func (e *evaluation) decideAt(ctx context.Context, lambdas []float64) error {
	for _, l := range e.anyPrice {
		for _, lambda := range lambdas {
			at, err := l.prices.at(ctx, l, e.t.Actions, lambda)
			if err != nil {
				return err
			}
			e.learned = append(e.learned, at)
		}
	}
	return nil
}

// priceCautions are notes on the prices of the report that an any-price policy was not checked on.
func (e *evaluation) priceCautions(add func(format string, args ...any), l Learned, lambdas []float64) {
	for _, lambda := range lambdas {
		if why := l.prices.info.PriceAt(e.t.Actions, lambda).Unchecked; len(why) > 0 {
			add("%s was not checked on the prices at lambda %g: %s.", e.called(l), lambda, strings.Join(why, "; "))
		}
	}
}
