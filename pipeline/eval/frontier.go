package eval

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/baseline"
	"pipe/models/policy"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
)

// scales are the multipliers of fees at which a frontier has points, besides the lambdas of the report.
var scales = []float64{0, 0.25, 0.5, 1, 2, 4, 8}

// pricePoint is a price of a frontier: lambda, and a factor on the fees of experts. If it multiplies all fees by one
// factor, scaled is true.
type pricePoint struct {
	lambda, experts float64
	scaled          bool
}

// scale is the factor on all fees; nil if there is none.
func (p pricePoint) scale() *float64 {
	switch {
	case !p.scaled:
		return nil
	case p.experts != 1:
		return &p.experts
	}
	return &p.lambda
}

// pricePoints are the prices of the frontier: the lambdas of the report and, if there is an any-price policy or cascade, others in
// the ranges of all of them, and factors on all fees. Without any fee there are none.
func (e *evaluation) pricePoints(lambdas []float64) []pricePoint {
	a := e.t.Actions
	advice := slices.ContainsFunc(a.Advice, func(v costs.Advice) bool { return v.Fee > 0 })
	experts := slices.ContainsFunc(a.Experts, func(x costs.Expert) bool { return x.Fee > 0 })
	var out []pricePoint
	add := func(p pricePoint) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	switch {
	case !e.hasFees():
		return nil
	case len(e.ranges()) == 0 || !advice && !experts:
		for _, l := range lambdas {
			add(pricePoint{l, 1, false})
		}
		return out
	case !advice:
		for _, s := range scales {
			add(pricePoint{1, s, true})
		}
	default:
		for _, l := range append(slices.Clone(lambdas), e.inRange(scales)...) {
			add(pricePoint{l, 1, !experts || l == 1})
		}
	}
	if advice && experts {
		for _, s := range scales {
			add(pricePoint{s, s, true})
		}
	}
	slices.SortFunc(out, func(a, b pricePoint) int {
		return cmp.Or(cmp.Compare(a.lambda, b.lambda), cmp.Compare(a.experts, b.experts))
	})
	return out
}

// ranges are those of the any-price policies and cascades.
func (e *evaluation) ranges() (out []*policy.PriceRange) {
	for _, l := range e.anyPrice {
		out = append(out, l.Info.Prices)
	}
	for _, c := range e.anyCascades {
		out = append(out, c.info.Prices)
	}
	return out
}

// inRange are the lambdas that are in all of these ranges.
func (e *evaluation) inRange(lambdas []float64) (out []float64) {
	for _, l := range lambdas {
		if !slices.ContainsFunc(e.ranges(), func(r *policy.PriceRange) bool { return l < r.Lambda[0] || l > r.Lambda[1] }) {
			out = append(out, l)
		}
	}
	return out
}

// actionsAt are the actions of the tensor with the fees of experts of a price.
func (e *evaluation) actionsAt(p pricePoint) *costs.Actions {
	a := *e.t.Actions
	a.Experts = slices.Clone(a.Experts)
	for j := range a.Experts {
		a.Experts[j].Fee *= p.experts
	}
	return &a
}

// frontier has, for every price, the any-price policies and cascades, the best constant of the training rows, and the policies of own
// and the cascades that were trained for this price. Without any price its prices are the lambdas of the report.
func (e *evaluation) frontier(ctx context.Context, lambdas []float64, own []entry) ([]report.FrontierPoint, error) {
	prices := e.pricePoints(lambdas)
	var f frontier
	for _, price := range prices {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := e.addPrice(ctx, &f, price, own); err != nil {
			return nil, err
		}
	}
	return f.points, f.intervals(e)
}

// frontier collects points, and the series per row whose intervals they get.
type frontier struct {
	points []report.FrontierPoint
	series [][]float64
	take   []func(p []report.FrontierPoint, v *report.Interval) // where the interval of a series goes
}

// addPrice adds the points at one price.
func (e *evaluation) addPrice(ctx context.Context, f *frontier, price pricePoint, own []entry) error {
	a := e.actionsAt(price)
	decided, err := e.anyPriceAt(ctx, a, price.lambda)
	if err != nil {
		return err
	}
	method, trained := e.ownAt(own, price)
	name, first, second := methods.AnyPrice, decided, trained
	if decided == nil {
		name, first, second = method, trained, nil
	}
	cascades, err := e.cascadesFor(ctx, a, price)
	if err != nil || first == nil && cascades == nil {
		return err
	}
	c := e.constantAt(a, price)
	var once paid // the policy for this lambda alone, or else the any-price policy
	if first != nil {
		once = e.paid(first, a, price)
		at := f.add(name, price, once)
		f.addConstant(price, c)
		f.against(at, once, c)
		if second != nil {
			ours := once
			once = e.paid(second, a, price)
			f.add(method, price, once)
			f.regret(at, method, ours, once)
		}
	} else {
		f.addConstant(price, c)
	}
	for i := range cascades {
		looks := &cascades[i]
		ours := e.playedPaid(looks, a, price.lambda)
		at := f.add(looks.method(), price, ours)
		f.points[at].Share = looks.share()
		f.against(at, ours, c)
		if own := looks.ownOf(cascades); own != nil {
			f.regret(at, own.method(), ours, e.playedPaid(own, a, price.lambda))
		} else if first != nil {
			f.regret(at, cmp.Or(method, name), ours, once)
		}
	}
	return nil
}

// cascadesFor are the any-price cascades played at a price, and those that were trained for this price alone.
func (e *evaluation) cascadesFor(ctx context.Context, a *costs.Actions, price pricePoint) ([]played, error) {
	out, err := e.anyCascadesAt(ctx, a, price.lambda)
	if price.experts == 1 {
		for _, c := range e.cascadesAt(price.lambda) {
			if c.prices == nil {
				out = append(out, *c)
			}
		}
	}
	return out, err
}

// ownOf is the cascade among others that was trained for the price at which this any-price cascade was played; nil if there is none.
func (p *played) ownOf(others []played) *played {
	i := slices.IndexFunc(others, func(o played) bool {
		return p.prices != nil && o.prices == nil && o.info.Stages == p.info.Stages
	})
	if i < 0 {
		return nil
	}
	return &others[i]
}

// constantPaid is the best constant pair of the training rows at a price; nil without training rows.
type constantPaid struct {
	paid
	name string
}

func (e *evaluation) constantAt(a *costs.Actions, price pricePoint) *constantPaid {
	if len(e.train) == 0 {
		return nil
	}
	best := e.bestConstant(a, price.lambda)
	return &constantPaid{e.paid([][]int{e.always(best)}, a, price), a.Name(best)}
}

// addConstant adds the point of the best constant, if there is one.
func (f *frontier) addConstant(price pricePoint, c *constantPaid) {
	if c != nil {
		f.points[f.add(baseline.BestFixedTrain, price, c.paid)].Pair = c.name
	}
}

// against adds the interval of a point's difference to the constant, if there is one.
func (f *frontier) against(at int, ours paid, c *constantPaid) {
	if c != nil {
		f.difference(ours, c.paid, func(p []report.FrontierPoint, v *report.Interval) { p[at].DiffConstant = v })
	}
}

// regret adds the interval of a point's difference to the policy of a method that was trained for this lambda alone.
func (f *frontier) regret(at int, method string, ours, theirs paid) {
	f.points[at].Own = method
	f.difference(ours, theirs, func(p []report.FrontierPoint, v *report.Interval) { p[at].Regret = v })
}

// anyPriceAt are the decisions of the any-price policies at a price, nil if there are none.
func (e *evaluation) anyPriceAt(ctx context.Context, a *costs.Actions, lambda float64) (decided [][]int, err error) {
	for _, l := range e.anyPrice {
		at, err := l.prices.at(ctx, l, a, lambda)
		if err != nil {
			return nil, err
		}
		decided = append(decided, at.Action)
	}
	return decided, nil
}

// always is action a on every reported row.
func (e *evaluation) always(a int) []int { return slices.Repeat([]int{a}, len(e.rows)) }

// ownAt are the decisions of the policies that were trained for one lambda alone: those of the first method, in the order
// of tables, that has any.
func (e *evaluation) ownAt(own []entry, price pricePoint) (method string, actions [][]int) {
	if price.experts != 1 {
		return "", nil
	}
	for _, l := range own {
		if e.method(l).NoAdvice || l.Info.Lambda != price.lambda {
			continue
		}
		if actions == nil || methods.Rank(l.Info.Method) < methods.Rank(method) {
			method, actions = l.Info.Method, nil
		}
		if l.Info.Method == method {
			actions = append(actions, l.Action)
		}
	}
	return method, actions
}

// bestConstant is the pair with the smallest mean cost of the training rows, the first on ties.
func (e *evaluation) bestConstant(a *costs.Actions, lambda float64) int {
	t := *e.t
	t.Actions = a
	return costs.Summarize(&t, e.train, lambda).Best
}

// paid averages over the seeds of a method, one list of actions each.
func (e *evaluation) paid(seeds [][]int, a *costs.Actions, price pricePoint) paid {
	n := len(e.rows)
	p := paid{make([]float64, n), make([]float64, n), make([]float64, n)}
	money, fees := e.t.Actions.Fees(1), a.Fees(price.lambda)
	for _, actions := range seeds {
		for k, row := range e.rows {
			i, share := actions[k], 1/float64(len(seeds))
			loss, measured := float64(e.t.Losses(row)[i]), e.t.MeasuredFee(row, i)
			p.loss[k] += share * loss
			p.money[k] += share * (money[i] + measured)
			p.cost[k] += share * (loss + measured + fees[i])
		}
	}
	return p
}

// add adds a point and returns its index.
func (f *frontier) add(method string, price pricePoint, p paid) int {
	at := len(f.points)
	point := report.FrontierPoint{Method: method, Lambda: price.lambda, ExpertFactor: price.experts, Scale: price.scale()}
	point.Loss, _ = models.MeanStd(p.loss)
	point.Money, _ = models.MeanStd(p.money)
	point.TrueLoss, _ = models.MeanStd(p.cost)
	f.points = append(f.points, point)
	f.series = append(f.series, p.loss, p.money)
	f.take = append(f.take,
		func(p []report.FrontierPoint, v *report.Interval) { p[at].LossInterval = v },
		func(p []report.FrontierPoint, v *report.Interval) { p[at].MoneyInterval = v })
	return at
}

// difference adds the interval of the difference of two costs.
func (f *frontier) difference(a, b paid, take func(p []report.FrontierPoint, v *report.Interval)) {
	d := make([]float64, len(a.cost))
	for k := range d {
		d[k] = a.cost[k] - b.cost[k]
	}
	f.series, f.take = append(f.series, d), append(f.take, take)
}

// intervals fills in the intervals of the points. If all rows are one draw, there are none.
func (f *frontier) intervals(e *evaluation) error {
	s := models.DefaultBootstrap(e.o.Seed)
	s.Resamples, s.Clusters = e.o.Resamples, e.together.IDs()
	all, err := models.PairedIntervals(s, f.series...)
	if errors.Is(err, models.ErrOneDraw) {
		return nil
	}
	for i := range all {
		f.take[i](f.points, (*report.Interval)(&all[i]))
	}
	return err
}
