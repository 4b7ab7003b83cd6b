package auto

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/models/estimate"
	"pipe/models/policy"
	"pipe/onnx/ort"
)

// Train learns one policy per lambda on the training rows of a tensor, without choices by the user. lambdas multiply
// the fees of advice. Policies and reports are in their order:
//
//   - members of several families estimate the loss of every pair. Each is fitted on folds of the training rows, and
//     estimates the losses of the rows that were left out (folds if rows are few, else one inner split). Where features have
//     several blocks ([costs.Tensor.Blocks]), these are scaled alike, and simple members see also each block alone;
//   - a blend of the members is the weighted mean with the smallest squared error on the left-out rows, of differences
//     between pairs;
//   - the policy takes the cheapest pair by the blend. It leaves the best fixed pair only for a gain above a margin: the
//     largest margin whose loss on the left-out rows is within half a standard error of the smallest;
//   - the guard estimates the gain of that procedure over the best fixed pair: for each block of left-out rows the
//     weights and the margin are chosen on the other blocks. If the gain does not pass Settings.Rule, the policy is the
//     fixed pair. A verdict that is close is taken on the mean of several draws of folds (policy.Guard.Draws);
//   - a curve makes the estimates calibrated.
//
// Rows that belong together ([costs.Tensor.Clusters], or as Settings.Apart says) are on one side of every split, and count as one sample for the
// bound. If there are fewer clusters than folds, there are as many folds as clusters. If all rows are one cluster,
// nothing can be held out, and the policies are the fixed pairs.
//
// The order of the rows changes nothing: what a row says decides where it is ([policy.OriginKey] has a digest of the table,
// which has an order).
//
// With Settings.HalfLife, a row counts 2^(-age/half-life): in members, weights of blends, margins, curves and the guard,
// and in the choice of the best fixed pair. Standardisation of features counts all rows alike.
//
// Members also learn from rows on which some outcomes are unknown. What is chosen and judged on left-out rows, and the
// best fixed pair, uses rows that are complete ([costs.Tensor.CompleteRows]), and those of a log: one pair was executed, with a known
// probability ([costs.Tensor.Propensity]). Losses of other pairs on such a row are doubly robust estimates, which are noisy, so the guard
// decides by the lower bound whatever the rule. A pair that the log executed on too few rows is never chosen (Settings.Support).
//
// With Settings.Deployed, the guard compares with that policy in place of the best fixed pair, by the lower bound too. Where the learned
// policy does not pass, the deployed one stays, and the policy in the result is nil.
//
// A tensor that is not valid is an error of costs.Tensor.ValidatePartial. If there are too few training rows, the error is a
// *costs.DataError; other errors are those of models.Train.
func Train(ctx context.Context, t *costs.Tensor, lambdas []float64, s Settings, o models.Options) ([]*policy.Policy, []Report, error) {
	if err := costs.CheckLambdas(lambdas); err != nil {
		return nil, nil, errors.Join(s.Validate(), err)
	}
	s.Usage = nil // fees are those of the training, so measured ones are part of what is estimated
	var targets []target
	for _, l := range lambdas {
		targets = append(targets, target{lambda: l})
	}
	return train(ctx, t, targets, s, o)
}

// TrainAnyPrice learns one policy for all prices of a range, as [Train] does for one price. Gate and guard compare it
// with the best fixed pair of many prices in the range: it must pass the rule on average over them, and must at none be
// worse with a confidence of 95%. If it does not pass, the policy takes the best fixed pair of every price. A range that is
// not one is an error; other errors are those of [Train].
func TrainAnyPrice(ctx context.Context, t *costs.Tensor, r policy.PriceRange, s Settings, o models.Options) (*policy.Policy, Report, error) {
	if err := r.Check(); err != nil {
		return nil, Report{}, err
	}
	if s.Deployed != nil {
		return nil, Report{}, errors.New("auto: a deployed policy decides at its own prices; an any-price policy is compared with the best fixed pair of each price")
	}
	return trainPriced(ctx, t, target{lambda: 1, prices: &r}, s, o)
}

// TrainAt is [TrainAnyPrice] compared at given points, and not at those of the range. Report.Held has the decisions at each of them.
func TrainAt(ctx context.Context, t *costs.Tensor, r policy.PriceRange, at []Point, s Settings, o models.Options) (*policy.Policy, Report, error) {
	s.Usage = nil
	return trainPriced(ctx, t, target{lambda: 1, prices: &r, at: at}, s, o)
}

func trainPriced(ctx context.Context, t *costs.Tensor, g target, s Settings, o models.Options) (*policy.Policy, Report, error) {
	policies, reports, err := train(ctx, t, []target{g}, s, o)
	if err != nil {
		return nil, Report{}, err
	}
	return policies[0], reports[0], nil
}

// target is a policy to learn: for one lambda or for a range of prices.
type target struct {
	lambda float64
	prices *policy.PriceRange
	at     []Point // where it is compared; nil: at the lambda, or as pricesIn says
}

func (g target) pricesOf(t *table) (out []price) {
	for _, p := range g.at {
		out = append(out, newPrice(t, p.PriceGuard, p.Fees, policy.UsagePrices{}))
	}
	if out != nil {
		return out
	}
	if g.prices != nil {
		return pricesIn(t, *g.prices)
	}
	return []price{atLambda(t, g.lambda)}
}

func train(ctx context.Context, t *costs.Tensor, targets []target, s Settings, o models.Options) ([]*policy.Policy, []Report, error) {
	if err := s.Validate(); err != nil {
		return nil, nil, err
	}
	if err := t.ValidatePartial(); err != nil {
		return nil, nil, err
	}
	rows := t.Rows(costs.Train)
	if err := checkRows(t, rows, s); err != nil {
		return nil, nil, err
	}
	switch {
	case o.Runtime == nil:
		return nil, nil, fmt.Errorf("auto: %w", ort.ErrNoRuntime)
	}
	if err := s.Ready(t.Actions.Len()); err != nil {
		return nil, nil, fmt.Errorf("auto: %w", err)
	}
	tab := newTable(t, s)
	if err := tab.support.check(s.Support); err != nil {
		return nil, nil, err
	}
	if tab.usage != nil && tab.logged != nil {
		return nil, nil, errors.New("auto: what calls used is not known of pairs that a log did not execute: without usage, measured fees are part of the losses")
	}
	if paid := len(tab.judging); tab.usage != nil && paid < 2*s.Folds {
		return nil, nil, &costs.DataError{Column: costs.TokensIn.String(), Msg: fmt.Sprintf("what the pairs used is known on %d training rows, %d folds need at least %d", paid, s.Folds, 2*s.Folds)}
	}
	if err := checkCosts(tab, targets); err != nil {
		return nil, nil, err
	}
	policies, reports, err := learn(ctx, tab, targets, s, o)
	if err != nil {
		return nil, nil, fmt.Errorf("auto: %w", err)
	}
	for i := range reports {
		if w := s.Warm; w != nil && w.Lambda == reports[i].Lambda && reports[i].Prices == nil && reports[i].Warm == nil {
			reports[i].Warm = &WarmReport{Reason: "all training rows belong together, so none could be held out"}
		}
	}
	origin := policy.Origin(t)
	for i, p := range policies {
		if p == nil {
			continue
		}
		p.Info = reports[i].info(s)
		maps.Copy(p.Info, origin)
	}
	return policies, reports, nil
}

// checkRows reports training rows that are too few, not complete, or without times.
func checkRows(t *costs.Tensor, rows []int, s Settings) error {
	if len(rows) < 2*s.Folds {
		return &costs.DataError{Column: "split", Msg: fmt.Sprintf("there are %d training rows, %d folds need at least %d: import more requests; a clear verdict takes hundreds", len(rows), s.Folds, 2*s.Folds)}
	}
	if s.HalfLife > 0 && t.Times == nil {
		return &costs.DataError{Column: "time", Msg: "is missing: with a half-life every row needs a time"}
	}
	if s.Warm != nil {
		if err := s.Warm.check(t, rows); err != nil {
			return err
		}
	}
	if s.Deployed != nil {
		if err := s.Deployed.check(t, rows); err != nil {
			return err
		}
	}
	for i, known := range t.KnownRows(rows) {
		if known == 0 && t.Actions.Available(i) && t.Propensity == nil {
			return &costs.DataError{Column: "loss", Msg: fmt.Sprintf("the outcome of %s is unknown on all %d training rows; declare the pair unavailable, or record some outcomes", t.Actions.Name(i), len(rows))}
		}
	}
	if judging, _ := judgingRows(t, rows, loggedRows(t, rows, s.Clip)); len(judging) < 2*s.Folds {
		return &costs.DataError{Column: "loss", Msg: fmt.Sprintf("the outcomes of all pairs, or the probability of the one that was executed, are known on %d training rows, %d folds need at least %d: "+
			"policies are judged on such rows, so record the outcomes of every pair on some of them, or the probabilities", len(judging), s.Folds, 2*s.Folds)}
	}
	return nil
}

// mostCost bounds losses and fees. Scores of -1e30 exclude pairs in policy files, so scores must be far from that.
const mostCost = 1e24

// checkCosts reports losses of the table and fees of the targets that a policy file cannot have.
func checkCosts(t *table, targets []target) error {
	if most := max(math.Abs(t.low), math.Abs(t.high)); most > mostCost {
		return &costs.DataError{Column: "loss", Msg: fmt.Sprintf("a loss of size %g, at most %g is possible: use a larger unit for losses and fees", most, mostCost)}
	}
	for _, g := range targets {
		for _, p := range g.pricesOf(t) {
			if most := slices.Max(p.fees); most > mostCost {
				return &costs.DataError{Msg: fmt.Sprintf("a fee of %g at %s, at most %g is possible: use a larger unit for losses and fees", most, p.Name(), mostCost)}
			}
		}
	}
	return nil
}

// learn fits the members once, and decides what every target makes of them.
func learn(ctx context.Context, t *table, targets []target, s Settings, o models.Options) (policies []*policy.Policy, reports []Report, err error) {
	var m *members
	if len(t.folds) > 0 {
		if m, err = crossFit(ctx, t, s, o); err != nil {
			return nil, nil, err
		}
	}
	if m != nil && t.logged != nil {
		t.constant, t.caution = t.meansOfJudged(t.everyHeld()), t.careful(s.Caution)
	}
	blends, d := newBlends(t, m), draws{draw{t, m}, s, o}
	var prices [][]price
	for _, g := range targets {
		prices = append(prices, g.pricesOf(t))
	}
	verdicts, err := d.verdicts(ctx, prices)
	if err != nil {
		return nil, nil, err
	}
	for i, g := range targets {
		r := Report{Lambda: g.lambda, Prices: g.prices, Rows: t.data.Len(), Clusters: t.clusters.Len(), Folds: len(t.folds), HalfLife: s.HalfLife, Support: t.support}
		if x := t.full.Ties(t.rows); s.Apart == nil && x.Distinct < x.Rows {
			r.Ties = &x
		}
		if t.data.Known != nil || t.complete < t.data.Len() {
			r.Complete, r.Unknown, r.Logged = t.complete, t.unknown, len(t.judging)-t.complete
		}
		var learned policy.Estimate
		if m == nil {
			r.Guard = policy.Guard{Fixed: g.pricesOf(t)[0].Fixed, Confidence: s.Confidence, Rule: s.Rule, Fallback: true}
			if s.Deployed != nil {
				r.Guard.Deployed = s.Deployed.Name
			}
		} else if learned, err = r.compare(ctx, verdicts[i], blends, o); err != nil {
			return nil, nil, err
		}
		if m != nil && (g.prices == nil || g.at != nil) {
			r.Held = verdicts[i].decided()
		}
		if learned.Usage == nil && t.usage != nil {
			if learned.Usage, err = t.usage.fit(ctx, false); err != nil {
				return nil, nil, err
			}
		}
		reports, policies = append(reports, r), append(policies, deploy(t, g, r, learned))
	}
	return policies, reports, nil
}

// compare fills the parts of the report that depend on prices, and returns the estimate if the guard lets it through.
func (r *Report) compare(ctx context.Context, v verdict, b *blends, o models.Options) (learned policy.Estimate, err error) {
	r.Guard = v.guard
	j, own := v.judge, make([][][]option, len(rules))
	for i := range rules {
		own[i] = j.options(b.estimates(i))
	}
	chosen, err := j.choose(own, j.rowsWithout(-1))
	if err != nil {
		return learned, err
	}
	r.Margin = chosen.margin
	for i, rule := range rules {
		c := policy.Member{Name: rule.name}
		if c.Loss, c.Error, err = j.loss(own[i], chosen.margin); err != nil {
			return learned, err
		}
		if i == chosen.rule {
			c.Weight = 1
		}
		r.Blends = append(r.Blends, c)
	}
	for i, name := range b.names {
		c := policy.Member{Name: name, Weight: b.weights[chosen.rule][i]}
		if c.Loss, c.Error, err = j.loss(j.options(b.members.estimates[i]), 0); err != nil {
			return learned, err
		}
		r.Members = append(r.Members, c)
	}
	if w := j.s.Warm; w != nil && r.Prices == nil && w.Lambda == r.Lambda {
		if r.Warm, err = j.warm(w, v.options[0], v.margin, r.Guard); err != nil {
			return learned, err
		}
	}
	var c calibrated
	if c, r.Calibration, err = j.calibrate(b.estimates(chosen.rule), chosen.margin); err != nil || r.Guard.Fallback && !j.s.KeepEstimates {
		return learned, err
	}
	learned = policy.Estimate{Constant: j.t.constant, Curve: j.t.within(c.curve), Selection: c.selection}
	if j.t.usage != nil {
		if learned.Usage, err = j.t.usage.fit(ctx, true); err != nil {
			return learned, err
		}
	}
	learned.Blend, err = b.fit(ctx, chosen.rule, o)
	return learned, err
}

// alwaysFixed is a margin, as a multiple of the range of losses, that no estimate overcomes, and beside which float32 keeps four digits.
const alwaysFixed = 1000

// deploy is the policy of a target: the learned one, or the fixed pairs; nil if the deployed policy stays.
func deploy(t *table, g target, r Report, learned policy.Estimate) *policy.Policy {
	if r.Guard.Fallback && r.Guard.Deployed != "" {
		return nil
	}
	kept := r.Guard.Fallback && len(learned.Blend.Parts) > 0
	if r.Guard.Fallback && g.prices == nil && !kept {
		mean := make([]float64, len(t.constant))
		for i, fee := range t.full.Actions.Fees(g.lambda) {
			mean[i] = t.constant[i] + t.careOf(i) + fee
		}
		p := policy.NewFixed(t.full.Actions, mean, g.lambda, t.full.Dim)
		p.Actions = t.source.Actions // untried pairs keep their excluded scores
		p.Method, p.Recipe = Name, Name
		return p
	}
	e := policy.Estimate{Constant: t.constant, Blend: estimate.Blend{Parts: []estimate.Part{{
		Weight: 1, Estimator: estimate.NewConstant(t.constant, t.full.Dim),
	}}}, Usage: learned.Usage}
	if !r.Guard.Fallback {
		e = learned
		e.Margin = r.Margin
	} else if kept {
		e = learned
		e.Margin = alwaysFixed * max(1, t.high-t.low)
	}
	e.Prices, e.Caution = g.prices, t.cautions()
	return &policy.Policy{
		Actions: t.source.Actions, Method: Name, Recipe: Name, Lambda: g.lambda,
		Decoder: policy.DecoderEstimate, Dim: t.full.Dim, Standard: t.std, Estimate: &e,
	}
}
