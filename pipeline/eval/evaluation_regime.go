package eval

import (
	"errors"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/baseline"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
)

// methodActions has the actions of a method at one lambda on the reported rows, one list per seed.
type methodActions struct {
	method   string
	actions  [][]int
	pair     string  // of a constant
	policies []entry // one per seed; nil: not a policy
	played   *played // of a cascade, which has no actions; else nil
}

// regime adds the results at one lambda to the report.
func (e *evaluation) regime(r *report.Report, lambda float64) error {
	outs, err := e.outcomes(lambda)
	if err != nil {
		return err
	}
	perRow := make([][]float64, len(outs))
	first := len(r.Rows)
	for i, out := range outs {
		row := e.row(out, lambda)
		perRow[i] = e.meanCosts(out, lambda)
		r.Rows = append(r.Rows, row)
	}
	if err := e.differences(r.Rows[first:], outs, perRow); err != nil {
		return err
	}
	r.BestAdvice = append(r.BestAdvice, e.bestAdvice(lambda))
	r.Cells = append(r.Cells, e.cells(lambda))
	for _, out := range outs {
		if methods.Named(out.method, e.o.Own...).Composite() {
			r.Distribution = append(r.Distribution, e.distribution(out, lambda)...)
		}
	}
	return nil
}

// baselines runs every baseline whose inputs exist. Random ones run once per seed of the policy whose decisions they
// use.
func (e *evaluation) baselines(outs []methodActions, lambda float64) ([]methodActions, error) {
	chosen, scores := e.composite(lambda)
	var l2d [][]int
	if i := slices.IndexFunc(outs, func(o methodActions) bool { return o.method == models.L2D }); i >= 0 {
		l2d = outs[i].actions
	}
	for _, b := range baseline.All() {
		out := methodActions{method: b.Name}
		for s := range e.draws(b, len(chosen), len(l2d)) {
			in := baseline.Input{Tensor: e.t, Rows: e.rows, Train: e.train, Lambda: lambda, Seed: e.o.Seed + uint64(s)}
			if b.NeedsChosen {
				in.Chosen, in.Scores = chosen[s], scores[s]
			}
			if b.NeedsL2D {
				in.L2D = l2d[s]
			}
			actions, err := b.Run(in)
			if errors.Is(err, baseline.ErrNoPair) {
				break // for example no expert can do without advice
			}
			if err != nil {
				return nil, err
			}
			out.actions = append(out.actions, actions)
		}
		if len(out.actions) == 0 {
			continue
		}
		if b.Constant {
			out.pair = e.t.Actions.Name(out.actions[0][0])
		}
		outs = append(outs, out)
	}
	return outs, nil
}

// draws is the number of runs of a baseline: 0 if its inputs are missing.
func (e *evaluation) draws(b baseline.Rule, chosen, l2d int) int {
	switch {
	case b.Extra || (b.NeedsTrain && len(e.train) == 0):
		return 0
	case b.NeedsChosen:
		return chosen
	case b.NeedsL2D:
		return l2d
	case b.Random:
		return max(1, chosen)
	}
	return 1
}

// composite has the actions and scores of the composite policy's seeds on the reported rows.
func (e *evaluation) composite(lambda float64) (chosen [][]int, scores [][]float32) {
	for _, method := range methods.Composite(e.o.Own...) {
		for _, l := range e.learned {
			if l.Info.Method == method && l.Info.Lambda == lambda {
				chosen, scores = append(chosen, l.Action), append(scores, l.Scores)
			}
		}
		if chosen != nil {
			return chosen, scores
		}
	}
	return nil, nil
}

// row is the row of a method in the report.
func (e *evaluation) row(out methodActions, lambda float64) report.Row {
	var losses, rates []float64
	if out.played != nil {
		loss, _ := models.MeanStd(e.meanCosts(out, lambda))
		losses, rates = append(losses, loss), append(rates, e.adviceRate(out.played))
	}
	for _, actions := range out.actions {
		losses = append(losses, e.t.TrueLoss(e.rows, actions, lambda))
		rates = append(rates, e.t.Actions.AdviceRate(actions))
	}
	mean, std := models.MeanStd(losses)
	rate, _ := models.MeanStd(rates)
	row := report.Row{
		Method: out.method, Lambda: report.Num(lambda), N: len(e.train), Seeds: len(losses), Pair: out.pair,
		TrueLossMean: mean, AdviceRate: report.Num(rate),
	}
	if len(losses) > 1 {
		row.TrueLossStd = report.Num(std)
	}
	e.describe(&row, out)
	return row
}

// describe adds what the figures of policies do not show.
func (e *evaluation) describe(row *report.Row, out methodActions) {
	a := e.t.Actions
	if out.played != nil {
		row.ChangedFees = out.played.info.Actions.ChangedFees(a)
	}
	fixed, played := map[int]bool{}, map[int]bool{}
	for _, l := range out.policies {
		fixed[l.Info.Fixed] = true
		for _, i := range l.Action {
			played[i] = true
		}
		if l.Info.Fixed >= 0 && l.Info.Guard != nil && l.Info.Guard.Fallback {
			if row.Fallback == nil {
				row.Fallback = map[string]int{}
			}
			row.Fallback[a.Name(l.Info.Fixed)]++
		}
		for _, f := range l.changedFees(e.t) {
			if !slices.Contains(row.ChangedFees, f) {
				row.ChangedFees = append(row.ChangedFees, f)
			}
		}
	}
	for i := range fixed {
		if len(fixed) == 1 && i >= 0 { // every seed is the same constant
			row.Pair = a.Name(i)
		}
	}
	for i := range played {
		if len(played) == 1 {
			row.Plays = a.Name(i)
		}
	}
}

// meanCosts are the realised costs per reported row, averaged over seeds.
func (e *evaluation) meanCosts(out methodActions, lambda float64) []float64 {
	if out.played != nil {
		return e.playedPaid(out.played, e.t.Actions, lambda).cost
	}
	c := make([]float64, len(e.rows))
	for _, actions := range out.actions {
		for k, n := range e.rows {
			c[k] += e.t.Cost(n, actions[k], lambda) / float64(len(out.actions))
		}
	}
	return c
}

// differences adds the paired intervals to best_fixed and to l2d. Rows that belong together count as one sample; if all
// do, there are no intervals.
func (e *evaluation) differences(rows []report.Row, outs []methodActions, perRow [][]float64) error {
	type place struct {
		row int
		l2d bool
	}
	var places []place
	var series [][]float64
	for _, ref := range []string{baseline.BestFixed, models.L2D} {
		r := slices.IndexFunc(outs, func(o methodActions) bool { return o.method == ref })
		if r < 0 {
			continue
		}
		for i := range outs {
			if i == r {
				continue
			}
			d := make([]float64, len(e.rows))
			for k := range d {
				d[k] = perRow[i][k] - perRow[r][k]
			}
			places = append(places, place{i, ref == models.L2D})
			series = append(series, d)
		}
	}
	s := models.DefaultBootstrap(e.o.Seed)
	s.Resamples, s.Clusters = e.o.Resamples, e.together.IDs()
	intervals, err := models.PairedIntervals(s, series...)
	if errors.Is(err, models.ErrOneDraw) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, p := range places {
		v := (*report.Interval)(&intervals[i])
		if p.l2d {
			rows[p.row].DiffL2D = v
		} else {
			rows[p.row].DiffBestFixed = v
		}
	}
	return nil
}

// bestAdvice is the advice with the smallest mean cost on the reported rows,
// for each expert.
func (e *evaluation) bestAdvice(lambda float64) report.BestAdvice {
	a := e.t.Actions
	sum, mask := costs.Summarize(e.t, e.rows, lambda), a.Mask()
	b := report.BestAdvice{Lambda: lambda}
	for j, x := range a.Experts {
		best := -1
		for k := range a.Advice {
			if i := a.Index(j, k); mask[i] && (best < 0 || sum.Cost[i] < sum.Cost[best]) {
				best = i
			}
		}
		b.Experts = append(b.Experts, x.Name)
		if best < 0 {
			b.Advice, b.Cost = append(b.Advice, ""), append(b.Cost, 0)
			continue
		}
		_, k := a.Pair(best)
		b.Advice, b.Cost = append(b.Advice, a.Advice[k].Name), append(b.Cost, sum.Cost[best])
	}
	return b
}

func (e *evaluation) cells(lambda float64) report.CellTable {
	a := e.t.Actions
	sum := costs.Summarize(e.t, e.rows, lambda)
	c := report.CellTable{Name: e.o.Split, Lambda: lambda}
	for _, d := range a.Advice {
		c.Advice = append(c.Advice, d.Name)
	}
	for j, x := range a.Experts {
		c.Experts = append(c.Experts, x.Name)
		var line []*float64
		for k := range a.Advice {
			line = append(line, report.Num(sum.Cost[a.Index(j, k)]))
		}
		c.TrueLoss = append(c.TrueLoss, line)
	}
	return c
}

// distribution is how often each advice is taken, overall and per routed
// expert, over all seeds.
func (e *evaluation) distribution(out methodActions, lambda float64) []report.AdviceShares {
	a := e.t.Actions
	var names []string
	for _, d := range a.Advice {
		names = append(names, d.Name)
	}
	counts := make([][]float64, len(a.Experts)+1) // last: overall
	for i := range counts {
		counts[i] = make([]float64, len(names))
	}
	for _, actions := range out.actions {
		for _, i := range actions {
			j, k := a.Pair(i)
			counts[j][k]++
			counts[len(a.Experts)][k]++
		}
	}
	total := float64(len(e.rows) * len(out.actions))
	share := func(expert string, count []float64) report.AdviceShares {
		sum := 0.0
		for _, c := range count {
			sum += c
		}
		s := report.AdviceShares{Method: out.method, Lambda: lambda, Expert: expert, Routed: sum / total, Advice: names}
		for _, c := range count {
			s.Share = append(s.Share, c/max(1, sum))
		}
		return s
	}
	shares := []report.AdviceShares{share("", counts[len(a.Experts)])}
	for j, x := range a.Experts {
		shares = append(shares, share(x.Name, counts[j]))
	}
	return shares
}
