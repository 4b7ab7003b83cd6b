package eval

import (
	"context"
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/onnx/ort"
	"pipe/pipeline/play"
)

// played is a cascade with what it does on the reported rows.
type played struct {
	*cascade.Played // per row
	file            string
	info            *cascade.Info
}

// openCascade opens a cascade file that matches t, and plays the given rows.
func openCascade(ctx context.Context, rt *ort.Runtime, file storage.Location, t *costs.Tensor, rows []int) (p played, err error) {
	d, err := play.Open(ctx, rt, file)
	if err != nil {
		return p, err
	}
	defer func() {
		if err = errors.Join(err, d.Close()); err != nil {
			err = fmt.Errorf("cascade %q: %w", file, err)
		}
	}()
	p = played{file: file.String(), info: d.Info()}
	p.Played, err = cascade.Play(ctx, d, t, rows, nil)
	return p, err
}

// oneOfEach refuses two cascades that would have one name in tables.
func oneOfEach(cascades []played) error {
	for i, c := range cascades {
		for _, before := range cascades[:i] {
			if before.info.Lambda == c.info.Lambda && before.method() == c.method() {
				return &costs.DataError{File: c.file, Msg: fmt.Sprintf("is a second cascade of %d stages at lambda %g, beside %s: name one of them", c.info.Stages, c.info.Lambda, before.file)}
			}
		}
	}
	return nil
}

// method is the name of the cascade in tables of methods.
func (p *played) method() string { return fmt.Sprintf("cascade_%d", p.info.Stages) }

// cascadesAt are the cascades for a lambda.
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
