package bench

import (
	"fmt"

	"pipe/costs"
	"pipe/internal/world"
	"pipe/models"
	"pipe/models/baseline"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// report has the table at the largest size, excess risk against size, and decision maps.
func (r *syntheticRun) report() (*report.Report, error) {
	rep := &report.Report{
		Benchmark: "synthetic", Title: "Synthetic benchmark: composite policy against the separated surrogate and L2D",
		Settings: map[string]string{
			"seeds": fmt.Sprint(r.c.Seeds), "data seed": fmt.Sprint(r.c.DataSeed), "test instances": fmt.Sprint(r.c.Test),
			"network": stage.JSON(r.c.Network), "learning rate": fmt.Sprint(r.c.LearningRate), "tau": fmt.Sprint(r.c.Tau),
		},
		Notes: []string{
			"True loss is the expected loss under the known tables; training sees Bernoulli draws. Excess is above the Bayes risk of the same test instances (0.280 in the population; limits there: separated 0.340, L2D 0.340).",
			"l2d_random_advice and random_expert_no_advice are the paper's rows \"learned route, random advice\" and \"random route, no advice\"; learned_expert_random_advice borrows from ours instead.",
			"random_expert_learned_advice takes the best advice for the drawn expert; random_expert_kept_advice keeps the advice index that ours chose.",
		},
	}
	largest := r.c.Sizes[len(r.c.Sizes)-1]
	for _, n := range r.c.Sizes {
		for _, m := range syntheticMethods {
			s := r.find(m, n)
			var actions [][]int
			for _, l := range s.learned {
				actions = append(actions, l.Action)
			}
			rep.Rows = append(rep.Rows, r.row(m, n, actions))
		}
	}
	if err := r.baselineRows(rep, largest); err != nil {
		return nil, err
	}
	if err := r.boundNotes(rep, largest); err != nil {
		return nil, err
	}
	return rep, r.figures(rep, largest)
}

func (r *syntheticRun) find(method string, n int) *syntheticResult {
	for _, s := range r.results {
		if s.method == method && s.n == n {
			return s
		}
	}
	panic("no result for " + method) // every method was trained at every size
}

// row summarises one method over its seeds.
func (r *syntheticRun) row(method string, n int, actions [][]int) report.Row {
	rows := r.test.Rows(costs.Test)
	var loss, rate, match []float64
	var regional [2][2][]float64 // region, (loss, match)
	var members [2][]int
	for _, k := range rows {
		members[world.SyntheticRegion(r.test.Row(k))] = append(members[world.SyntheticRegion(r.test.Row(k))], k)
	}
	for _, act := range actions {
		loss = append(loss, r.test.TrueLoss(rows, act, world.SyntheticLambda))
		rate = append(rate, r.test.Actions.AdviceRate(act))
		match = append(match, r.bayesMatch(rows, act))
		for g, in := range members {
			of := make([]int, len(in))
			for i, k := range in {
				of[i] = act[k]
			}
			regional[g][0] = append(regional[g][0], r.test.TrueLoss(in, of, world.SyntheticLambda))
			regional[g][1] = append(regional[g][1], r.bayesMatch(in, of))
		}
	}
	mean, std := models.MeanStd(loss)
	out := report.Row{
		Method: method, Lambda: report.Num(world.SyntheticLambda), N: n, Seeds: len(actions), TrueLossMean: mean,
		ExcessMean: report.Num(mean - r.bayes), AdviceRate: report.Num(average(rate)), BayesMatch: report.Num(average(match)),
	}
	if len(actions) > 1 {
		out.TrueLossStd, out.ExcessStd = report.Num(std), report.Num(std)
	}
	for g, name := range []string{"x_1 < 0", "x_1 >= 0"} {
		out.Regions = append(out.Regions, report.Region{Name: name, TrueLoss: report.Num(average(regional[g][0])), BayesMatch: report.Num(average(regional[g][1]))})
	}
	return out
}

func (r *syntheticRun) bayesMatch(rows, actions []int) float64 {
	hits := 0
	for i, k := range rows {
		if actions[i] == world.SyntheticBest[world.SyntheticRegion(r.test.Row(k))] {
			hits++
		}
	}
	return float64(hits) / float64(max(1, len(rows)))
}

// baselineRows adds the random and constant baselines at the largest size, and
// the Bayes policy.
func (r *syntheticRun) baselineRows(rep *report.Report, n int) error {
	rows := r.test.Rows(costs.Test)
	for _, b := range baseline.All() {
		if b.NeedsTrain || !(b.Random || b.Constant) {
			continue // the benchmark chooses nothing on training rows, and on expected losses the oracle is the Bayes policy
		}
		var actions [][]int
		for seed := range r.c.Seeds {
			ours := r.find(models.Ours, n).learned[seed]
			act, err := b.Run(baseline.Input{
				Tensor: r.test, Rows: rows, Lambda: world.SyntheticLambda, Seed: uint64(seed),
				Chosen: ours.Action, Scores: ours.Scores, L2D: r.find(models.L2D, n).learned[seed].Action,
			})
			if err != nil {
				return err
			}
			actions = append(actions, act)
		}
		if !b.Random {
			actions = actions[:1]
		}
		rep.Rows = append(rep.Rows, r.row(b.Name, n, actions))
	}
	rep.Rows = append(rep.Rows, r.row(methods.Bayes, n, [][]int{r.bayesActions(rows)}))
	return nil
}

func (r *syntheticRun) bayesActions(rows []int) []int {
	actions := make([]int, len(rows))
	for i, k := range rows {
		actions[i] = world.SyntheticBest[world.SyntheticRegion(r.test.Row(k))]
	}
	return actions
}

// boundNotes states the consistency bound of ours, which is exact because the distribution is known.
func (r *syntheticRun) boundNotes(rep *report.Report, n int) error {
	p := models.BoundProblem{Kind: models.BoundConditional, Tau: r.c.Tau, Actions: 4}
	fees := r.test.Actions.Fees(world.SyntheticLambda)
	var costs []float64
	for k := range r.test.Len() {
		costs = r.test.Costs(costs, k, world.SyntheticLambda)
		p.Costs = append(p.Costs, costs...)
		p.Largest = append(p.Largest, models.ExpectedMaximum(world.SyntheticMeans[world.SyntheticRegion(r.test.Row(k))][:], fees))
	}
	for _, s := range r.find(models.Ours, n).learned[0].Scores {
		p.Scores = append(p.Scores, float64(s))
	}
	b, err := models.ConsistencyBound(p)
	if err != nil {
		return err
	}
	rep.Notes = append(rep.Notes, fmt.Sprintf(
		"Consistency bound of ours (seed 0, n = %d, exact for this law): surrogate excess %.4f with W = %.3f bounds the true excess by %.3f; it is %.4f.",
		n, b.Excess, b.WeightNorm, b.Bound, b.TrueExcess))
	return nil
}

func (r *syntheticRun) figures(rep *report.Report, largest int) error {
	var learned []report.Row
	for _, row := range rep.Rows {
		for _, m := range syntheticMethods {
			if row.Method == m {
				learned = append(learned, row)
			}
		}
	}
	var maps []report.DecisionMap
	for _, m := range syntheticMethods {
		maps = append(maps, r.find(m, largest).maps)
	}
	decisions, err := report.DecisionFigure(maps, r.test.Actions.Names())
	if err != nil {
		return err
	}
	if curve := report.ExcessFigure(learned); curve != nil {
		rep.Figures = append(rep.Figures, *curve)
	}
	rep.Figures = append(rep.Figures, *decisions)
	return nil
}
