package auto

import (
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/models/regress"
)

// decisions are those of a policy on the training rows.
func decisions(t *testing.T, p *policy.Policy, train *costs.Tensor) (actions []int) {
	t.Helper()
	out, err := decider(t, p).Decide(t.Context(), train.Features, train.Len())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range out.Action {
		actions = append(actions, int(a))
	}
	return actions
}

// An older policy that learned from many rows is used beside one that has few; one of another world is not. Rows that it
// may have learned from do not judge it, nor rows that belong to such a row.
func TestOlderPolicyIsUsedWhereItIsBetter(t *testing.T) {
	old := structured.tensor(2500, costs.Train, 21, true)
	old.Times = make([]int64, old.Len())
	s := quickAuto()
	good, _ := learned(t, old, s)
	info := &policy.Info{Info: good.Info}
	if until, ok := info.Until(); !ok || until != 0 {
		t.Fatalf("the older policy learned until %d, %t", until, ok)
	}
	train := structured.tensor(200, costs.Train, 22, true)
	train.Times = make([]int64, train.Len())
	train.Groups = append([]string(nil), train.IDs...)
	for n := range train.Times {
		train.Times[n] = int64(n) // the first is not later
	}
	train.Groups[1] = train.Groups[0]
	worst := make([]int, train.Len())
	for n := range worst {
		worst[n] = 3 // b without advice
	}
	for name, actions := range map[string][]int{"good": decisions(t, good, train), "worst": worst} {
		s.Warm = &Warm{Lambda: 1, Actions: actions}
		p, r := learned(t, train, s)
		w := r.Warm
		t.Logf("%s: %+v", name, w)
		if w == nil || w.Rows != 198 || w.Used != (name == "good") || !strings.Contains(p.Info[policy.WarmKey], `"used":`) {
			t.Errorf("%s: %+v, %s", name, w, p.Info[policy.WarmKey])
		}
	}
	s.Warm = &Warm{Lambda: 1, Actions: worst, Until: 1e6}
	if _, r := learned(t, train, s); r.Warm.Rows != 0 || r.Warm.Used || !strings.Contains(r.Warm.Reason, "fewer than two") {
		t.Errorf("%+v", r.Warm)
	}
	s.Warm.Lambda = 2
	if p, r := learned(t, train, s); r.Warm != nil || p.Info[policy.WarmKey] != "" {
		t.Errorf("a policy of another lambda is compared: %+v", r.Warm)
	}
	for want, spoil := range map[string]func(*costs.Tensor){
		"column time: is missing: which rows":         func(t *costs.Tensor) { t.Times = nil },
		"200 decisions of an older policy for 150":    func(t *costs.Tensor) { *t = *t.Subset(t.Rows(costs.Train)[:150]) },
		"decides for action 3 on training row 0, whi": func(t *costs.Tensor) { t.Actions = unavailable(t, 3) },
	} {
		train := structured.tensor(200, costs.Train, 22, true)
		train.Times = make([]int64, train.Len())
		spoil(train)
		if _, _, err := Train(t.Context(), train, []float64{1}, s, models.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestOlderPolicyThatGainsTooLittle: the rule of the guard holds for an older policy too, with its share of the loss, and what is
// said of one that is used is true.
func TestOlderPolicyThatGainsTooLittle(t *testing.T) {
	const rows = 20
	for better, used := range map[float32]bool{0.001: false, 0.1: true} {
		tab := &table{full: &costs.Tensor{}, data: &regress.Data{Pairs: 2, Mask: []bool{true, true}}, clusters: costs.NewClusters(rows)}
		w := &Warm{Lambda: 1, Until: -1}
		for n := range rows {
			tab.rows, tab.place, tab.held = append(tab.rows, n), append(tab.place, n), append(tab.held, n)
			tab.data.Y, tab.full.Times = append(tab.data.Y, 1, 1-better), append(tab.full.Times, int64(n))
			w.Actions = append(w.Actions, 1)
		}
		j := &judge{t: tab, s: DefaultSettings(), prices: []price{{fees: make([]float64, 2)}}}
		r, err := j.warm(w, nil, nil, policy.Guard{Fallback: true})
		if err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{true: "the gain, 0.1000, is above 0.0020 (0.2% of", false: "the gain, 0.0010, is not above 0.0020"}[used]
		if r.Rows != rows || r.Used != used || !strings.Contains(r.Reason, want) {
			t.Errorf("better by %g: %+v", better, r)
		}
	}
}

// unavailable are the actions of t without one, whose losses become NaN.
func unavailable(t *costs.Tensor, action int) *costs.Actions {
	a := *t.Actions
	j, k := a.Pair(action)
	a.Unavailable = []costs.Pair{{Expert: j, Advice: k}}
	for n := range t.Len() {
		t.Losses(n)[action] = nan32
	}
	return &a
}
