package findings

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/models/auto"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
)

// tableOf is a tensor of training and validation rows with two experts, of which "large" has a fee of 0.2, with or without
// docs, for 0.1. loss gives the losses of small/none, small/docs, large/none and large/docs on a row, features its features.
func tableOf(train, val int, names []string, loss func(n int) [4]float32, features func(n int) []float32) *costs.Tensor {
	t := &costs.Tensor{Dim: len(names), Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.2}}, Advice: []costs.Advice{{Name: "none"}, {Name: "docs", Fee: 0.1}},
	}}
	for n := range train + val {
		split := costs.Train
		if n >= train {
			split = costs.Val
		}
		l := loss(n)
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint("row-", n)), append(t.Splits, split)
		t.Loss, t.Features = append(t.Loss, l[:]...), append(t.Features, features(n)...)
	}
	text, _ := json.Marshal(names)
	t.Meta = map[string]string{costs.NamesKey: string(text)}
	return t
}

func evidenceOf(t *costs.Tensor) *Evidence {
	e := &Evidence{Tensor: t, Rows: t.Rows(costs.Val), Train: t.Rows(costs.Train), Today: -1, Resamples: 200}
	e.Together = t.Clusters(e.Rows)
	return e
}

// two has a small expert that is right on even rows and a large one that is right on odd rows, less often than the noise
// says.
func two(rows int, noise float64, seed uint64) *costs.Tensor {
	r := rand.New(rand.NewPCG(seed, 1))
	return tableOf(rows, rows, []string{"odd", "x"}, func(n int) [4]float32 {
		odd, wrong := float32(n%2), float32(0)
		if r.Float64() < noise {
			wrong = 1
		}
		small, large := max(odd, wrong), max(1-odd, wrong)
		return [4]float32{small, small, large, large}
	}, func(n int) []float32 { return []float32{float32(n % 2), float32(n)} })
}

// perfect takes the right expert of two; its policy is called auto.
func perfect(e *Evidence) *Policy {
	p := &Policy{Name: "auto-lambda1.onnx", Method: auto.Name}
	for _, n := range e.Rows {
		p.Action = append(p.Action, 2*(n%2))
	}
	return p
}

func always(e *Evidence, pair int) *Policy {
	return &Policy{Name: "auto-lambda1.onnx", Method: auto.Name, Action: e.constant(pair)}
}

func TestVerdicts(t *testing.T) {
	clear := func(e *Evidence) *Policy { return perfect(e) }
	random := func(e *Evidence) *Policy { // no better than a constant
		p, r := perfect(e), rand.New(rand.NewPCG(1, 1))
		for k := range p.Action {
			p.Action[k] = 2 * r.IntN(2)
		}
		return p
	}
	worse := func(e *Evidence) *Policy {
		p := perfect(e)
		for k := range p.Action {
			p.Action[k] = 2 - p.Action[k]
		}
		return p
	}
	fell := func(e *Evidence) *Policy { p := always(e, 0); p.GuardFell = true; return p }
	for name, c := range map[string]struct {
		change               func(e *Evidence)
		policy               func(e *Evidence) *Policy
		deploy, pair, reason string
		as                   string
		lambda               *float64
	}{
		"the policy wins":            {policy: clear, deploy: "policy"},
		"no policy":                  {deploy: "constant", pair: "small/none", reason: "no_policy", as: "best_fixed_train"},
		"noise":                      {policy: random, deploy: "constant", pair: "small/none", reason: "dearer", as: "best_fixed_train"},
		"the wrong way round":        {policy: worse, deploy: "constant", pair: "small/none", reason: "dearer", as: "best_fixed_train"},
		"the guard fell back":        {policy: fell, deploy: "constant", pair: "small/none", reason: "guard", as: "best_fixed_train"},
		"one pair":                   {policy: func(e *Evidence) *Policy { return always(e, 2) }, deploy: "constant", pair: "small/none", reason: "one_pair", as: "best_fixed_train"},
		"trained on":                 {change: func(e *Evidence) { e.TrainedOn = true }, policy: clear, deploy: "none", reason: "trained_on"},
		"one draw":                   {change: func(e *Evidence) { e.Together = costs.NewClusters(len(e.Rows), make([]int, len(e.Rows))) }, policy: clear, deploy: "none", reason: "one_draw"},
		"nothing to compare with":    {change: func(e *Evidence) { e.Train = nil }, policy: clear, deploy: "none", reason: "no_constant"},
		"only today":                 {change: func(e *Evidence) { e.Train, e.Today = nil, 3 }, policy: clear, deploy: "policy"},
		"today is the best":          {change: func(e *Evidence) { e.Today = 0 }, policy: worse, deploy: "constant", pair: "small/none", reason: "dearer", as: "today best_fixed_train"},
		"today is dearer":            {change: func(e *Evidence) { e.Today = 3 }, policy: worse, deploy: "constant", pair: "small/none", reason: "dearer", as: "best_fixed_train"},
		"today is dearer, no policy": {change: func(e *Evidence) { e.Today = 3 }, deploy: "constant", pair: "small/none", reason: "no_policy", as: "best_fixed_train"},
		"a tie": {policy: func(e *Evidence) *Policy { // docs change nothing, and are free at lambda 0
			p := always(e, 0)
			p.Action[0] = 1
			return p
		}, lambda: new(0.0), deploy: "constant", pair: "small/none", reason: "not_certain", as: "best_fixed_train"},
		"today alone and a bad policy": {change: func(e *Evidence) { e.Train, e.Today = nil, 0 }, policy: worse, deploy: "constant", pair: "small/none", reason: "dearer", as: "today"},
	} {
		e := evidenceOf(two(300, 0.1, 1))
		if c.change != nil {
			c.change(e)
		}
		var p *Policy
		if c.policy != nil {
			p = c.policy(e)
		}
		lambda := 1.0
		if c.lambda != nil {
			lambda = *c.lambda
		}
		v, err := e.Verdict(lambda, p)
		if err != nil {
			t.Fatal(name, err)
		}
		if v.Deploy != c.deploy || v.Pair != c.pair || v.Reason != c.reason || strings.Join(v.As, " ") != c.as {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestVerdictsAreLawful: over random tables, the figures of a verdict fit each other, and a policy is recommended if and only
// if it certainly saves something against every constant.
func TestVerdictsAreLawful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		e := evidenceOf(two(60, rapid.Float64Range(0, 1).Draw(t, "noise"), seed))
		e.Today, e.Resamples = rapid.IntRange(-1, 3).Draw(t, "today"), 50
		p, r := perfect(e), rand.New(rand.NewPCG(seed, 2))
		for k := range p.Action {
			if r.Float64() < 0.4 {
				p.Action[k] = r.IntN(4)
			}
		}
		const lambda = 1
		v, err := e.Verdict(lambda, p)
		if err != nil {
			t.Fatal(err)
		}
		if v.Deploy == report.DeployPolicy && slices.ContainsFunc(v.Savings, uncertain) && e.Today < 0 {
			t.Errorf("recommended, although not certain: %+v", v)
		}
		if v.Deploy == report.DeployConstant && v.Reason == report.NotCertain && !slices.ContainsFunc(v.PolicySavings, uncertain) {
			t.Errorf("not recommended, although certain: %+v", v)
		}
		chosen := p.Action
		if v.Deploy == report.DeployConstant {
			chosen = e.constant(slices.Index(e.Tensor.Actions.Names(), v.Pair))
		}
		for _, s := range v.Savings {
			cost := e.Tensor.TrueLoss(e.Rows, chosen, lambda)
			theirs := e.Tensor.TrueLoss(e.Rows, e.constant(slices.Index(e.Tensor.Actions.Names(), s.Pair)), lambda)
			near(t, "reference", s.Reference, theirs)
			near(t, "cost", s.Cost.Mean, theirs-cost)
			near(t, "loss and money", s.Loss.Mean+s.Money.Mean, s.Cost.Mean) // at lambda 1
			if s.Share != nil {
				near(t, "share", s.Share.Mean, s.Cost.Mean/s.Reference)
			}
			if s.Cost.Low > s.Cost.Mean+1e-9 || s.Cost.High < s.Cost.Mean-1e-9 {
				t.Errorf("%+v", s.Cost)
			}
		}
		rows := 0.0
		for _, x := range v.Experts {
			rows += x.Share
		}
		near(t, "shares of experts", rows, 1)
	})
}

func near(t interface{ Errorf(string, ...any) }, what string, got, want float64) {
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// Money is fees at the value of a loss, advice before lambda; costs stay in losses.
func TestMoneyOfSavings(t *testing.T) {
	e := evidenceOf(two(300, 0, 1))
	e.Money = &costs.Money{Currency: "USD", PerLoss: 40}
	v, err := e.Verdict(3, always(e, 1)) // small/docs, whose advice costs 3 x 0.1
	if err != nil {
		t.Fatal(err)
	}
	if v.Pair != "small/none" || len(v.Experts) != 1 || v.Experts[0].Money != 0 {
		t.Errorf("%+v", v)
	}
	savings, err := e.savings(e.constant(1), 3, []reference{{pair: 3, as: []string{report.AgainstToday}}, {pair: 0, as: []string{report.AgainstFixed}}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "saved against large/docs", savings[0].Money.Mean, 40*0.2)
	near(t, "saved against small/none", savings[1].Money.Mean, -40*0.1)
	near(t, "cost against small/none", savings[1].Cost.Mean, -0.3)
}

// The policy of a verdict does not depend on figures.
func TestPreferred(t *testing.T) {
	list := []Policy{{Method: "l2d"}, {Method: "ours", Name: "1"}, {Method: "mine"}, {Method: "ours", Name: "2"}}
	if p := Preferred(list); p.Name != "1" {
		t.Errorf("%+v", p)
	}
	if p := Preferred(append(list, Policy{Method: methods.AnyPrice})); p.Method != methods.AnyPrice {
		t.Errorf("%+v", p)
	}
	if p := Preferred(append(list, Policy{Method: methods.AnyPrice}, Policy{Method: auto.Name})); p.Method != auto.Name {
		t.Errorf("%+v", p)
	}
	if p := Preferred(nil); p != nil {
		t.Errorf("%+v", p)
	}
}
