package fromlog

import (
	"context"
	"math"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// priceList are the prices of all costs of an export: those in the file of one version of a policy.
type priceList struct {
	policy string // name@digest
	about  *decisionlog.PolicyInfo
	fees   []float64    // of every pair: that of its expert, and lambda times that of its advice
	meter  *meter       // nil: costs have no measured fees
	money  *costs.Money // what a loss of 1 is worth; not nil with a meter
}

// priceList takes the prices of the policy that the options name, or else of the policy that was asked for: of its latest
// decision. It is that of a canary only where no other policy decided. nil: the log has no such decision.
func (o Options) priceList(ctx context.Context, log *decisionlog.Log) (*priceList, error) {
	var asked, canary *priceList
	for d, err := range log.Decisions() {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			return nil, err
		case !o.wants(d) || !o.during(d) || d.IsFixed() || d.IsPanel() || d.IsCascade() || o.Pairs != nil && o.Pairs.SameSet(d.About.Actions) != nil:
		case d.Canary && o.Policy == "":
			canary = canary.latest(d)
		default:
			asked = asked.latest(d)
		}
	}
	if asked == nil {
		asked = canary
	}
	if asked == nil {
		return nil, nil
	}
	return asked, asked.measure(o)
}

// latest is the list of the policy of a decision, which may be the same.
func (p *priceList) latest(d decisionlog.Decision) *priceList {
	name := d.Policy + "@" + d.Digest
	if p != nil && p.policy == name {
		return p
	}
	a := d.About.Actions
	p = &priceList{policy: name, about: d.About, fees: make([]float64, a.Len())}
	for i := range p.fees {
		j, k := a.Pair(i)
		p.fees[i] = a.Experts[j].Fee + d.About.Lambda*a.Advice[k].Fee
	}
	return p
}

// measure decides whether costs have measured fees: where the policy's expected costs have them, or the options say what a loss
// is worth.
func (p *priceList) measure(o Options) error {
	text, measured := p.about.Meta[costs.MeterKey]
	if o.NoFees || !measured && o.Money == "" {
		return nil
	}
	if !measured {
		text = "{}"
	}
	var err error
	if p.meter, err = newMeter(text); err != nil {
		return err
	}
	if p.money, err = costs.MoneyFor(p.about.Meta, o.Money); err == nil && p.money == nil {
		return noMoney(o.Log.String())
	}
	return err
}

// loss is the loss of a decision, with the measured fee of the call where the list has such. ok is false if that fee is not known.
// same is false if it is the money in the log, although the list has prices of models.
func (p *priceList) loss(d decisionlog.Decision) (loss float64, ok, same bool) {
	loss, _ = d.Outcome.LossOf()
	if p.meter == nil {
		return loss, true, true
	}
	money, ok, same := p.meter.call(d)
	return loss + money/p.money.PerLoss, ok, same || p.meter.Table == nil
}

// decided reports whether a decision was made at these fees, but for the rounding of float32. Prices of usage do not count.
func (p *priceList) decided(r *decisionlog.Record) bool {
	for i, fee := range p.fees {
		if !(math.Abs(r.FixedFeeOf(i)-fee) <= 1e-6*max(1, math.Abs(fee))) {
			return false
		}
	}
	return true
}

// Priced is a decision with its costs at a price list.
type Priced struct {
	decisionlog.Decision
	Loss float64   // with the measured fee of the call, where the list has such
	Cost float64   // Loss, and the fee of the pair that answered
	Fees []float64 // A, of every pair, without measured ones; shared
}

// exporter writes an export.
type exporter interface {
	take(d Priced) error
	close(ctx context.Context, r *Result) error // writes what it made
	abort()                                     // removes what is not complete; nothing after close
}

// exports gives decisions to the exports, all at one price list. It counts those that cannot have its prices.
type exports struct {
	options Options
	list    *priceList
	to      []exporter

	fallbacks, otherPairs, noFee, repriced, logMoney int
}

// take leaves out decisions that another pair answered than the chosen one, unless the options keep them: what they cost is not
// what the chosen pair costs.
func (e *exports) take(d decisionlog.Decision) error {
	if d.IsPanel() { // it was not chosen with the propensities of a policy
		return nil
	}
	if e.list == nil {
		return &costs.DataError{Msg: "came while the log was read, as the first of the policy; import the log again"}
	}
	if d.FellBack() {
		if e.fallbacks++; !e.options.Fallbacks {
			return nil
		}
	}
	if d.About.Actions.SameSet(e.list.about.Actions) != nil {
		e.otherPairs++
		return nil
	}
	loss, ok, same := e.list.loss(d)
	if !ok {
		e.noFee++
		return nil
	}
	if !same {
		e.logMoney++
	}
	if !e.list.decided(d.Record) {
		e.repriced++
	}
	for _, x := range e.to {
		if err := x.take(Priced{d, loss, loss + e.list.fees[d.Answered()], e.list.fees}); err != nil {
			return err
		}
	}
	return nil
}

func (e *exports) close(ctx context.Context, r *Result) error {
	if e.list == nil {
		return r.noLoss()
	}
	_, learned := e.list.about.Meta[costs.MeterKey]
	r.Prices = &PriceList{Policy: e.list.policy, Lambda: e.list.about.Lambda, Measured: e.list.meter != nil, Without: learned && e.list.meter == nil}
	r.Fallbacks, r.OtherPairs, r.ExportNoFee, r.Repriced, r.LogMoney = e.fallbacks, e.otherPairs, e.noFee, e.repriced, e.logMoney
	for _, x := range e.to {
		if err := x.close(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (e *exports) abort() {
	for _, x := range e.to {
		x.abort()
	}
}
