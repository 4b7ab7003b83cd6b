package eval

import (
	"errors"

	"pipe/models"
	"pipe/pipeline/report"
)

// constants are the pairs that are available on every reported row: what each of them loses and spends. There are none
// without any fee, measured ones included, since then money is no choice.
func (e *evaluation) constants() ([]report.ConstantPoint, error) {
	a := e.t.Actions
	if !e.hasFees() {
		return nil, nil
	}
	var out []report.ConstantPoint
	var series [][]float64
	for i := range a.Len() {
		if !a.Available(i) {
			continue
		}
		p := e.paid([][]int{e.always(i)}, a, pricePoint{1, 1, true})
		point := report.ConstantPoint{Pair: a.Name(i)}
		point.Loss, _ = models.MeanStd(p.loss)
		point.Money, _ = models.MeanStd(p.money)
		out = append(out, point)
		series = append(series, p.loss, p.money)
	}
	s := models.DefaultBootstrap(e.o.Seed)
	s.Resamples, s.Clusters = e.o.Resamples, e.together.IDs()
	all, err := models.PairedIntervals(s, series...)
	if errors.Is(err, models.ErrOneDraw) {
		return out, nil
	}
	for i := range all {
		v := report.Interval(all[i])
		if i%2 == 0 {
			out[i/2].LossInterval = &v
		} else {
			out[i/2].MoneyInterval = &v
		}
	}
	return out, err
}
