package findings

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/models/auto"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
)

// reference is a constant to compare with.
type reference struct {
	pair int
	as   []string
}

// references are the constants of one lambda: today's pair, the one with the lowest cost on the training rows, and the
// one with the lowest task loss there. A pair that is several of them is there once.
func (e *Evidence) references(lambda float64) []reference {
	var out []reference
	add := func(pair int, as string) {
		if i := slices.IndexFunc(out, func(r reference) bool { return r.pair == pair }); i >= 0 {
			out[i].as = append(out[i].as, as)
			return
		}
		out = append(out, reference{pair, []string{as}})
	}
	if e.Today >= 0 {
		add(e.Today, report.AgainstToday)
	}
	if len(e.Train) > 0 {
		s := costs.Summarize(e.Tensor, e.Train, lambda)
		add(s.Best, report.AgainstFixed)
		add(lowest(s.TaskLoss), report.AgainstStrongest)
	}
	return out
}

// fixed is the best fixed pair of the training rows, or today's pair; -1 if there is neither.
func (e *Evidence) fixed(lambda float64) int {
	switch {
	case len(e.Train) > 0:
		return costs.Summarize(e.Tensor, e.Train, lambda).Best
	default:
		return e.Today
	}
}

// lowest is the index of the smallest value, the first on ties.
func lowest(values []float64) int { return slices.Index(values, slices.Min(values)) }

// Preferred is the policy that a verdict is about. It does not depend on the reported rows: policies of the recipe auto
// come first, then any-price policies, then the others in the order of tables, and of one method the first. It is nil if
// there is none.
func Preferred(policies []Policy) *Policy {
	rank := func(p Policy) int {
		switch p.Method {
		case auto.Name:
			return -2
		case methods.AnyPrice:
			return -1
		}
		return methods.Rank(p.Method)
	}
	var best *Policy
	for i := range policies {
		if best == nil || rank(policies[i]) < rank(*best) {
			best = &policies[i]
		}
	}
	return best
}

// Verdict says what to deploy at one lambda: the policy, which may be nil, if it costs less than every constant with 95%
// confidence; else a constant.
func (e *Evidence) Verdict(lambda float64, p *Policy) (report.Verdict, error) {
	v := report.Verdict{Lambda: lambda, Deploy: report.DeployNothing, Rows: len(e.Rows)}
	if p != nil {
		v.Policy, v.Method, v.Origin = p.Name, p.Method, p.OtherTable
	}
	refs := e.references(lambda)
	switch {
	case e.TrainedOn:
		v.Reason = report.TrainedOn
	case len(refs) == 0:
		v.Reason = report.NoComparison
	case e.Together.Len() < 2:
		v.Reason = report.OneDraw
	}
	if v.Reason != "" {
		return v, nil
	}
	return v, e.decide(&v, lambda, p, refs)
}

// decide chooses between the policy and the constants.
func (e *Evidence) decide(v *report.Verdict, lambda float64, p *Policy, refs []reference) (err error) {
	var ofPolicy []report.Saving
	v.Reason = reason(p)
	if v.Reason == "" {
		if ofPolicy, err = e.savings(p.Action, lambda, refs); err != nil {
			return err
		}
		if !slices.ContainsFunc(ofPolicy, uncertain) {
			v.Deploy, v.Savings, v.Experts = report.DeployPolicy, ofPolicy, e.experts(p.Action, lambda)
			return nil
		}
	}
	kept, savings, err := e.keep(lambda, refs, ofPolicy)
	if err != nil {
		return err
	}
	if kept == nil {
		v.Deploy, v.Savings, v.Experts = report.DeployPolicy, ofPolicy, e.experts(p.Action, lambda)
		return nil
	}
	v.Deploy, v.Pair, v.As = report.DeployConstant, e.Tensor.Actions.Name(kept.pair), kept.as
	v.Savings, v.PolicySavings, v.Experts = savings, ofPolicy, e.experts(e.constant(kept.pair), lambda)
	if v.Reason == "" {
		v.Reason = report.NotCertain
		if i := slices.IndexFunc(ofPolicy, func(s report.Saving) bool { return s.Pair == v.Pair }); i >= 0 && ofPolicy[i].Cost.High < 0 {
			v.Reason = report.Dearer
		}
	}
	return nil
}

// reason is why a policy is not worth a comparison, "" if it is.
func reason(p *Policy) string {
	switch {
	case p == nil:
		return report.NoPolicy
	case p.GuardFell:
		return report.GuardFell
	case !slices.ContainsFunc(p.Action, func(i int) bool { return i != p.Action[0] }):
		return report.OnePair
	}
	return ""
}

// uncertain reports whether a saving may be a loss.
func uncertain(s report.Saving) bool { return !(s.Cost.Low > tie*(1+math.Abs(s.Reference))) }

// tie is the relative size of differences that rounding makes.
const tie = 1e-9

// keep is the constant to use where the policy is not certain to beat all, with its savings against the others. It is
// today's pair, unless the best fixed pair is certainly cheaper. Without today's pair it is the first that the policy does
// not certainly beat. It is nil if the policy certainly beats today's pair, and the best fixed pair does not.
func (e *Evidence) keep(lambda float64, refs []reference, ofPolicy []report.Saving) (*reference, []report.Saving, error) {
	savings := func(kept *reference) (*reference, []report.Saving, error) {
		others := slices.DeleteFunc(slices.Clone(refs), func(r reference) bool { return r.pair == kept.pair })
		s, err := e.savings(e.constant(kept.pair), lambda, others)
		return kept, s, err
	}
	if e.Today < 0 {
		return savings(&refs[max(0, slices.IndexFunc(ofPolicy, uncertain))])
	}
	if i := slices.IndexFunc(refs, func(r reference) bool { return slices.Contains(r.as, report.AgainstFixed) }); i > 0 {
		if kept, s, err := savings(&refs[i]); err != nil || !uncertain(s[0]) { // today's pair is the first of the others
			return kept, s, err
		}
	}
	if len(ofPolicy) > 0 && !uncertain(ofPolicy[0]) {
		return nil, nil, nil
	}
	return savings(&refs[0])
}

// savings are those of decisions against every constant.
func (e *Evidence) savings(actions []int, lambda float64, refs []reference) ([]report.Saving, error) {
	ours := e.paid(actions, lambda)
	var series, costs, bases [][]float64
	for _, r := range refs {
		theirs := e.paid(e.constant(r.pair), lambda)
		cost := minus(theirs.cost, ours.cost)
		series = append(series, cost, minus(theirs.loss, ours.loss), minus(theirs.money, ours.money))
		costs, bases = append(costs, cost), append(bases, theirs.cost)
	}
	all, err := e.intervals(series...)
	if err != nil {
		return nil, err
	}
	shares, err := e.ratios(costs, bases)
	if err != nil {
		return nil, err
	}
	var out []report.Saving
	for i, r := range refs {
		out = append(out, report.Saving{
			Against: r.as, Pair: e.Tensor.Actions.Name(r.pair), Reference: mean(bases[i]),
			Cost: all[3*i], Loss: all[3*i+1], Money: all[3*i+2], Share: shares[i],
		})
	}
	return out, nil
}

// experts is what every expert that is chosen at all gets.
func (e *Evidence) experts(actions []int, lambda float64) []report.ExpertUse {
	p, a := e.paid(actions, lambda), e.Tensor.Actions
	var out []report.ExpertUse
	for j, x := range a.Experts {
		use, n := report.ExpertUse{Expert: x.Name}, 0.0
		for k, i := range actions {
			if of, _ := a.Pair(i); of == j {
				n++
				use.Loss += p.loss[k]
				use.Money += p.money[k]
			}
		}
		if n > 0 {
			use.Share, use.Loss, use.Money = n/float64(len(actions)), use.Loss/n, use.Money/n
			out = append(out, use)
		}
	}
	return out
}
