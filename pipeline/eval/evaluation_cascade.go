package eval

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/onnx/ort"
	"pipe/pipeline/methods"
	"pipe/pipeline/play"
)

// played is a cascade with what it does on the reported rows.
type played struct {
	*cascade.Played // per row; nil for an any-price cascade that was not played yet
	file            string
	info            *cascade.Info
	prices          *anyPriceCascade // of an any-price cascade; else nil
	other           bool             // it was played at prices that its guarantee is not about
}

// anyPriceCascade is an any-price cascade that is played through the reported rows at the prices that are asked.
type anyPriceCascade struct {
	decider *cascade.Decider
	t       *costs.Tensor
	rows    []int
}

// at is the cascade played at the fees of a, with the lambda of the report. True losses count the fees of the tensor.
func (p *anyPriceCascade) at(ctx context.Context, c played, a *costs.Actions, lambda float64) (played, error) {
	prices := c.info.PriceAt(a, lambda)
	did, err := cascade.Play(ctx, p.decider, p.t, p.rows, prices)
	if err != nil {
		return c, fmt.Errorf("cascade %q: %w", c.file, err)
	}
	info := *c.info
	info.Lambda, info.Actions = lambda, p.t.Actions
	c.Played, c.info, c.other = did, &info, !c.info.Promises(prices)
	return c, nil
}

// openCascade opens a cascade file that matches t. It is played through the given rows, unless it is an any-price cascade, which is played at
// all prices of the report: the caller closes it.
func openCascade(ctx context.Context, rt *ort.Runtime, file storage.Location, t *costs.Tensor, rows []int) (p played, err error) {
	d, err := play.Open(ctx, rt, file)
	if err != nil {
		return p, err
	}
	p = played{file: file.String(), info: d.Info()}
	if p.info.Prices != nil {
		p.prices = &anyPriceCascade{d, t, rows}
		return p, nil
	}
	defer func() {
		if err = errors.Join(err, d.Close()); err != nil {
			err = fmt.Errorf("cascade %q: %w", file, err)
		}
	}()
	p.Played, err = cascade.Play(ctx, d, t, rows, nil)
	return p, err
}

// closeCascades closes those that are played at many prices.
func closeCascades(cascades []played) error {
	var errs []error
	for _, c := range cascades {
		if c.prices != nil {
			errs = append(errs, c.prices.decider.Close())
		}
	}
	return errors.Join(errs...)
}

// oneOfEach refuses two cascades that would have one name in tables.
func oneOfEach(cascades []played) error {
	for i, c := range cascades {
		for _, before := range cascades[:i] {
			if before.info.Lambda == c.info.Lambda && before.method() == c.method() {
				at := fmt.Sprintf("at lambda %g", c.info.Lambda)
				if c.prices != nil {
					at = "for any price"
				}
				return &costs.DataError{File: c.file, Msg: fmt.Sprintf("is a second cascade of %d stages %s, beside %s: name one of them", c.info.Stages, at, before.file)}
			}
		}
	}
	return nil
}

// method is the name of the cascade in tables of methods.
func (p *played) method() string {
	name := fmt.Sprintf("cascade_%d", p.info.Stages)
	if p.prices != nil {
		name = methods.AnyPrice + "_" + name
	}
	return name
}

// share are the shares of the rows on which it executed 1, 2, ... pairs.
func (p *played) share() []float64 {
	out := make([]float64, p.info.Stages)
	for _, pairs := range p.Order {
		out[len(pairs)-1]++
	}
	for n := range out {
		out[n] /= float64(len(p.Order))
	}
	return out
}

// anyCascadesAt are the any-price cascades, played at the fees of a.
func (e *evaluation) anyCascadesAt(ctx context.Context, a *costs.Actions, lambda float64) (out []played, err error) {
	for _, c := range e.anyCascades {
		at, err := c.prices.at(ctx, c, a, lambda)
		if err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	return out, nil
}

// cascadesAt are the cascades that were played at a lambda.
func (e *evaluation) cascadesAt(lambda float64) (out []*played) {
	for i := range e.cascades {
		if e.cascades[i].info.Lambda == lambda {
			out = append(out, &e.cascades[i])
		}
	}
	return out
}

// playedPaid is what a cascade loses, spends and costs per reported row, at a lambda and the fees of a.
func (e *evaluation) playedPaid(c *played, a *costs.Actions, lambda float64) paid {
	n := len(e.rows)
	p := paid{make([]float64, n), make([]float64, n), make([]float64, n)}
	money, fees := e.t.Actions.Fees(1), a.Fees(lambda)
	for k, row := range e.rows {
		p.loss[k] = float64(e.t.Losses(row)[c.Accepted[k]])
		p.cost[k] = p.loss[k]
		for _, i := range c.Order[k] {
			measured := e.t.MeasuredFee(row, i)
			p.money[k] += money[i] + measured
			p.cost[k] += fees[i] + measured
		}
	}
	return p
}

// adviceRate is the share of the rows on which a cascade buys advice.
func (e *evaluation) adviceRate(c *played) float64 {
	var bought float64
	for _, pairs := range c.Order {
		if e.t.Actions.AdviceRate(pairs) > 0 {
			bought++
		}
	}
	return bought / float64(len(c.Order))
}

// paid is what one method loses, spends and costs per reported row, averaged over its seeds.
type paid struct{ loss, money, cost []float64 }
