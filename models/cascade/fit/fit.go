package fit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"pipe/costs"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx/ort"
)

// Name is the method and the recipe of a cascade in its metadata.
const Name = "cascade"

// Train learns a cascade on the training rows of a tensor with facts. lambda multiplies the fees of advice.
//
// Every state is learned by the recipe auto, from what later states made of each row by what its other folds learned. So no
// state is learned from an answer that a later one decided after it had learned from it. The cascade is then compared with
// the one-shot policy of the recipe, and with the best fixed pair, on folds of rows that trained none of them. If it does
// not pass the rule ([cascade.Guard]), the result is the policy of auto.Train: it accepts every first answer.
//
// Rows whose outcomes are not all known learn, but do not judge, and do not tell what later states cost. A tensor without facts, or
// with fewer than two pairs, is a *costs.DataError, and so is a log: what a pair would have answered that was not executed is
// not known. Other errors are those of auto.Train.
func Train(ctx context.Context, t *costs.Tensor, lambda float64, s Settings, o models.Options) (*cascade.Policy, Report, error) {
	err := costs.CheckLambdas([]float64{lambda})
	if err = errors.Join(s.Validate(), err); err != nil {
		return nil, Report{}, fmt.Errorf("cascade: %w", err)
	}
	return train(ctx, t, func(a *costs.Actions) pricing { return fixedPricing(a, lambda) }, s, o)
}

// TrainAnyPrice learns one cascade for all prices of a range, as [Train] does for one price: fees are inputs of its file.
//
// A state after which no decision depends on prices is learned as auto.TrainAnyPrice does. Earlier states are learned at the centre of the
// range; what they cost at other prices is taken as linear in these ([cascade.State]). The guard compares with the any-price policy of
// auto.TrainAnyPrice, and with the best fixed pair, at many prices of the range: the cascade must pass the rule on average over them, and
// must at none be worse with policy.PriceConfidence. If it does not pass, the result is that policy. Measured fees are part of the losses. A range that is not one is an error; others are those of Train.
func TrainAnyPrice(ctx context.Context, t *costs.Tensor, r policy.PriceRange, s Settings, o models.Options) (*cascade.Policy, Report, error) {
	if err := errors.Join(s.Validate(), r.Check()); err != nil {
		return nil, Report{}, fmt.Errorf("cascade: %w", err)
	}
	return train(ctx, t, func(a *costs.Actions) pricing { return anyPricing(a, r) }, s, o)
}

func train(ctx context.Context, t *costs.Tensor, prices func(*costs.Actions) pricing, s Settings, o models.Options) (*cascade.Policy, Report, error) {
	err := check(t, s, o)
	var p *cascade.Policy
	var r Report
	if err == nil {
		p, r, err = trainChecked(ctx, t, prices(t.Actions), s, o)
	}
	if err != nil {
		return nil, r, fmt.Errorf("cascade: %w", err)
	}
	return p, r, nil
}

func trainChecked(ctx context.Context, t *costs.Tensor, at pricing, s Settings, o models.Options) (*cascade.Policy, Report, error) {
	own := t.Subset(t.Rows(costs.Train))
	c := together(own, s.Auto.Apart)
	s.Stages = min(s.Stages, available(t))
	groups := groupsOf(c)
	r := Report{Lambda: at.lambda, Prices: at.any, Rows: own.Len(), Clusters: c.Len(), Stages: s.Stages}
	r.Guard = cascade.Guard{Rule: s.Rule, Confidence: s.Confidence, Fallback: true}
	var err error
	if c.Len() >= 2*s.Folds {
		if r.Guard, r.Calibration, err = guard(ctx, own, c, groups, at, s, o); err != nil {
			return nil, r, err
		}
	}
	l := newLearner(own, groups, at, s, o)
	r.Pairs, r.FirstOnly = l.names()
	one, report, err := l.oneShot(ctx)
	if err != nil {
		return nil, r, err
	}
	r.OneShot = report
	p := once(t, at, s, one)
	if !r.Guard.Fallback {
		var states []cascade.State
		if states, r.States, err = l.states(ctx); err != nil {
			return nil, r, err
		}
		p = staged(t, at, s, one, states)
	}
	p.Info = r.info(t, s)
	return p, r, nil
}

func check(t *costs.Tensor, s Settings, o models.Options) error {
	if err := t.ValidatePartial(); err != nil {
		return err
	}
	switch rows, pairs := len(t.Rows(costs.Train)), available(t); {
	case len(t.Facts) == 0:
		return &costs.DataError{Msg: "nothing is recorded of what is seen of answers, such as a label or a confidence: a cascade has nothing to look at"}
	case t.Propensity != nil:
		return &costs.DataError{Column: "propensity", Msg: "this is a log: what pairs would have answered that were not executed is not known, so a cascade cannot be learned from it"}
	case repeated(t.Actions) != "":
		return &costs.DataError{Msg: fmt.Sprintf("two pairs are called %q, since a name has a slash in it: a cascade tells pairs apart by their names", repeated(t.Actions))}
	case pairs < 2:
		return &costs.DataError{Msg: "there is one pair; a cascade needs at least 2"}
	case rows < s.Folds*s.Auto.Folds:
		return &costs.DataError{Column: "split", Msg: fmt.Sprintf("there are %d training rows, a cascade needs at least %d", rows, s.Folds*s.Auto.Folds)}
	case o.Runtime == nil:
		return ort.ErrNoRuntime
	}
	return s.Auto.Ready(t.Actions.Len())
}

// available is the number of pairs that exist.
func available(t *costs.Tensor) int { return t.Actions.Len() - len(t.Actions.Unavailable) }

// repeated is a name that two pairs have; empty if there is none.
func repeated(a *costs.Actions) string {
	names := a.Names()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// together are the rows that belong together: what is seen of answers tells instances apart as features do.
func together(t *costs.Tensor, apart *bool) costs.Clusters {
	seen, columns := *t, seenColumns(t)
	width := len(columns) / t.Len()
	seen.Dim, seen.Features = t.Dim+width, nil
	rows := make([]int, t.Len())
	for n := range rows {
		rows[n] = n
		seen.Features = append(seen.Features, t.Row(n)...)
		for _, v := range columns[n*width : (n+1)*width] {
			if v != v {
				v = -math.MaxFloat32 // any number: NaN equals nothing
			}
			seen.Features = append(seen.Features, v)
		}
	}
	return seen.Together(rows, apart)
}

// groupsOf are names of sets of rows that belong together.
func groupsOf(c costs.Clusters) []string {
	out := make([]string, len(c.Of))
	for n, k := range c.Of {
		out[n] = strconv.Itoa(k)
	}
	return out
}

// names are the pairs that may be executed after another, and those that may not.
func (l *learner) names() (pairs, firstOnly []string) {
	for i, ok := range l.t.Actions.Mask() {
		switch {
		case l.allowed[i]:
			pairs = append(pairs, l.t.Actions.Name(i))
		case ok:
			firstOnly = append(firstOnly, l.t.Actions.Name(i))
		}
	}
	return pairs, firstOnly
}

// info is the metadata of the file about its training.
func (r Report) info(t *costs.Tensor, s Settings) map[string]string {
	out := policy.Origin(t)
	out["method"], out["recipe"] = Name, Name
	set := func(key string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // plain numbers and strings
		}
		out[key] = string(b)
	}
	set(cascade.GuardKey, r.Guard)
	set(policy.SettingsKey, struct {
		Folds  int    `json:"folds"`
		States int    `json:"states"`
		Values int    `json:"values"`
		Seed   uint64 `json:"seed"`
		Seeds  int    `json:"seeds"`
		Steps  int    `json:"steps"`
	}{s.Folds, s.States, s.Values, s.Auto.Seed, s.Auto.Seeds, s.Auto.Steps})
	if r.FirstOnly != nil {
		set(cascade.LimitsKey, r.FirstOnly)
	}
	if r.Calibration != nil {
		c := *r.Calibration
		c.Bins = nil
		set(policy.CalibrationKey, c)
	}
	return out
}
