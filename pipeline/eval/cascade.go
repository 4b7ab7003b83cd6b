package eval

import (
	"errors"
	"path/filepath"
	"slices"

	"pipe/models"
	"pipe/models/baseline"
	"pipe/pipeline/findings"
	"pipe/pipeline/report"
)

// reportCascades adds to the report what the cascades did at every lambda.
func (e *evaluation) reportCascades(r *report.Report, lambdas []float64) error {
	for _, lambda := range lambdas {
		for _, c := range e.cascadesAt(lambda) {
			out, err := e.reportCascade(c)
			if err != nil {
				return err
			}
			r.Cascades = append(r.Cascades, out)
		}
	}
	return nil
}

// compared is what decides once, with what it loses, spends and costs.
type compared struct {
	name, role string
	paid       paid
}

func (e *evaluation) reportCascade(c *played) (report.Cascade, error) {
	lambda := c.info.Lambda
	out := report.Cascade{
		Lambda: lambda, Policy: filepath.Base(c.file), OneShot: c.info.OneShot(), Origin: e.otherTable(c.info.Info), Rows: len(e.rows),
		Share: c.share(), Pairs: e.pairUse(c), Fees: c.info.Actions.ChangedFees(e.t.Actions),
	}
	for _, loss := range c.Played.Expected {
		out.Expected += float64(loss) / float64(len(c.Order))
	}
	out.Guarantee = e.guaranteed(c)
	ours := e.playedPaid(c, e.t.Actions, lambda)
	others, err := e.decidingOnce(lambda)
	if err != nil {
		return out, err
	}
	series := [][]float64{ours.loss, ours.money}
	out.Paid = summed(ours)
	for _, o := range others {
		diff := make([]float64, len(ours.cost))
		for k := range diff {
			diff[k] = ours.cost[k] - o.paid.cost[k]
		}
		series = append(series, o.paid.loss, o.paid.money, diff)
		out.Others = append(out.Others, report.CascadeOther{Name: o.name, Role: o.role, Paid: summed(o.paid)})
	}
	s := models.DefaultBootstrap(e.o.Seed)
	s.Resamples, s.Clusters = e.o.Resamples, e.together.IDs()
	all, err := models.PairedIntervals(s, series...)
	if errors.Is(err, models.ErrOneDraw) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	at := func(i int) *report.Interval { return (*report.Interval)(&all[i]) }
	out.Paid.LossInterval, out.Paid.MoneyInterval = at(0), at(1)
	for i := range out.Others {
		o := &out.Others[i]
		o.Paid.LossInterval, o.Paid.MoneyInterval, o.Diff = at(3*i+2), at(3*i+3), at(3*i+4)
	}
	return out, nil
}

// guaranteed is what the guarantee of a cascade accepts; nil: it has none.
func (e *evaluation) guaranteed(c *played) *report.CascadeGuarantee {
	g := c.info.Guarantee
	if g == nil {
		return nil
	}
	out, sum, accepted := &report.CascadeGuarantee{Risk: g.Risk, Joint: g.Joint, Other: c.other}, 0.0, 0.0
	for k, is := range c.Guaranteed {
		if is {
			accepted++
			sum += c.Loss[k]
		}
	}
	out.Accepted = accepted / float64(len(c.Guaranteed))
	of := accepted
	if g.Joint {
		of = float64(len(c.Guaranteed))
	}
	if of > 0 {
		mean := sum / of
		out.Loss = &mean
	}
	return out
}

// summed are the means of what is paid.
func summed(p paid) (out report.CascadePaid) {
	out.Loss, _ = models.MeanStd(p.loss)
	out.Money, _ = models.MeanStd(p.money)
	out.TrueLoss, _ = models.MeanStd(p.cost)
	return out
}

// decidingOnce are the policy of the verdict, the best fixed pair of the training rows, and the oracle, as far as they are there.
func (e *evaluation) decidingOnce(lambda float64) (out []compared, err error) {
	a := e.t.Actions
	add := func(name, role string, actions []int) {
		out = append(out, compared{name, role, e.paid([][]int{actions}, a, pricePoint{lambda, 1, false})})
	}
	if p := findings.Preferred(e.policies(lambda)); p != nil {
		add(p.Name, report.CascadePolicy, p.Action)
	}
	if len(e.train) > 0 {
		best := e.bestConstant(a, lambda)
		add(a.Name(best), report.CascadeConstant, e.always(best))
	}
	i := slices.IndexFunc(baseline.All(), func(b baseline.Rule) bool { return b.Name == report.CascadeOracle })
	oracle, err := baseline.All()[i].Run(baseline.Input{Tensor: e.t, Rows: e.rows, Train: e.train, Lambda: lambda, Seed: e.o.Seed})
	if err != nil {
		return nil, err
	}
	add(report.CascadeOracle, report.CascadeOracle, oracle)
	return out, nil
}

// pairUse is what a cascade does with every pair that it executes at all.
func (e *evaluation) pairUse(c *played) (out []report.CascadePairUse) {
	a, all := e.t.Actions, float64(len(c.Order))
	uses, loss := make([]report.CascadePairUse, a.Len()), make([]float64, a.Len())
	for k, pairs := range c.Order {
		uses[pairs[0]].First++
		for _, i := range pairs {
			uses[i].Executed++
		}
		accepted := c.Accepted[k]
		uses[accepted].Accepted++
		loss[accepted] += float64(e.t.Loss[e.rows[k]*a.Len()+accepted])
	}
	for i, u := range uses {
		if u.Executed == 0 {
			continue
		}
		if u.Accepted > 0 {
			u.Loss = report.Num(loss[i] / u.Accepted)
		}
		u.Pair, u.First, u.Executed, u.Accepted = a.Name(i), u.First/all, u.Executed/all, u.Accepted/all
		out = append(out, u)
	}
	return out
}
