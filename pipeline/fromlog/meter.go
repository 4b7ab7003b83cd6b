package fromlog

import (
	"pipe/costs"
	"pipe/costs/prices"
	"pipe/pipeline/decisionlog"
)

// meter computes the measured fees of calls in the log in the same way as those of the tensor that the policies learned from.
type meter struct {
	prices.Recorded        // by that tensor
	text            string // that tensor's pipe.prices, or {}
}

func newMeter(text string) (*meter, error) {
	recorded, err := prices.ParseRecorded(text)
	if err != nil {
		return nil, &costs.DataError{Column: costs.MeterKey, Msg: "of the policy is not what a tensor has as its prices", Err: err}
	}
	return &meter{*recorded, text}, nil
}

// call is the money of the call that answered, including its time. ok is false if it is not known. same is false if it was not
// computed at the prices of the meter.
func (m *meter) call(d decisionlog.Decision) (money float64, ok, same bool) {
	switch money, ok = m.tokens(d); {
	case ok:
		same = true
	case d.FeeKnown:
		money, ok, same = d.Fee, true, m.Table == nil
	}
	return money + m.PerSecond*seconds(d.Record), ok, same
}

// tokens is the money of the tokens of a call at the prices of the meter: those of the model that answered, or of the
// expert if the server too knew the price of the answer, so that no other model answered.
func (m *meter) tokens(d decisionlog.Decision) (money float64, ok bool) {
	if m.Table == nil || !d.Usage.Known {
		return 0, false
	}
	period, err := m.At(d.Model, d.Time)
	if err != nil && d.FeeKnown {
		j, _ := d.About.Actions.Pair(d.Answered())
		period, err = m.At(m.Model(d.About.Actions.Experts[j].Name), d.Time)
	}
	if err != nil {
		return 0, false
	}
	money, err = period.Cost(prices.Usage{In: float64(d.Usage.In), Cached: float64(d.Usage.Cached), Out: float64(d.Usage.Out), Parts: prices.PartsOf(d.TokenParts)})
	return money, err == nil
}

// seconds is how long the call took that answered: that of all calls without those that failed before it.
func seconds(r *decisionlog.Record) float64 {
	micros := r.Stages.Expert
	for _, a := range r.Attempts[:max(0, len(r.Attempts)-1)] {
		micros -= a.Micros
	}
	return float64(max(0, micros)) / 1e6
}
