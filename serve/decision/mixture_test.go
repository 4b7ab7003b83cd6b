package decision

import (
	"fmt"
	"math"
	"testing"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// plantedLoss is what a pair loses on a row of the law of canaries.
func plantedLoss(n, pair int) float64 { return share(fmt.Sprint(pair), fmt.Sprint("row ", n)) }

// estimate is the value of a policy from what was logged, with its standard error.
func estimate(records []*decisionlog.Record, target []int) (mean, se float64) {
	squares, n := 0.0, float64(len(records))
	for i, r := range records {
		if r.Action == target[i] {
			v := plantedLoss(i, r.Action) / r.Propensity[r.Action]
			mean += v / n
			squares += v * v / n
		}
	}
	return mean, math.Sqrt((squares - mean*mean) / n)
}

// TestMixture is the law of canaries: behind one server, a policy and its canary have values that follow from the logged
// propensities of all decisions, also with exploration.
func TestMixture(t *testing.T) {
	const rows = 3000
	x := numbers(21, rows)
	for _, epsilon := range []float64{0, 0.2} {
		s := DefaultSettings()
		s.Canary, s.Explore.Epsilon, s.Seed = []Canary{{Of: "fixed", Policy: "other", Share: 0.3}}, epsilon, 5
		w := newWorld(t, s)
		ask := func(policy string, n int, r Request) *Result {
			r.Policy, r.Inputs, r.ID = policy, features(x[n*dim:(n+1)*dim]), fmt.Sprint("request ", n)
			return w.ask(t, r)
		}
		truth, targets, differ, canaries := map[string]float64{}, map[string][]int{}, 0, 0
		logged := make([]*decisionlog.Record, rows)
		for n := range rows {
			r := ask("fixed", n, Request{}).Records[0]
			logged[n] = r
			if r.Canary {
				canaries++
			}
			for _, name := range []string{"fixed", "other"} {
				pair := ask(name+"@"+w.digest(t, name), n, Request{NoExplore: true}).Records[0].Action
				targets[name] = append(targets[name], pair)
				truth[name] += plantedLoss(n, pair) / rows
			}
			if targets["fixed"][n] != targets["other"][n] {
				differ++
			}
		}
		if share := float64(canaries) / rows; differ < rows/10 || math.Abs(share-0.3) > 0.03 {
			t.Fatalf("%d rows differ, the canary got %v", differ, share)
		}
		for name, target := range targets {
			got, se := estimate(logged, target)
			t.Logf("epsilon %v, %s: true value %.4f, IPS %.4f (se %.4f)", epsilon, name, truth[name], got, se)
			if math.Abs(got-truth[name]) > 3*se {
				t.Errorf("epsilon %v, %s: true value %.4f, IPS %.4f (se %.4f)", epsilon, name, truth[name], got, se)
			}
		}
	}
}

// digest is that of the served version of a policy.
func (w *world) digest(t *testing.T, name string) string {
	p, err := w.set.Acquire(name)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	return p.Digest
}

// TestMixtureOfARow checks the propensities of single rows: with a canary, with one that cannot decide, and without one.
func TestMixtureOfARow(t *testing.T) {
	s := DefaultSettings()
	s.Canary = []Canary{{Of: "fixed", Policy: "other", Share: 0.25}, {Of: "any", Policy: "fixed", Share: 0.25}}
	w, x, lambda := newWorld(t, s), numbers(3, 20), 2.0
	alone := map[string][]int{}
	for _, name := range []string{"fixed", "other"} {
		for _, r := range w.ask(t, Request{Policy: name + "@" + w.digest(t, name), Inputs: features(x)}).Records {
			if alone[name] = append(alone[name], r.Action); r.Share != 0 || r.OwnPropensity != nil || r.Propensity[r.Action] != 1 {
				t.Errorf("a version without a canary: %+v", r)
			}
		}
	}
	for user := range 30 {
		for i, r := range w.ask(t, Request{Policy: "fixed", Inputs: features(x), User: fmt.Sprint(user)}).Records {
			want := make([]float64, len(r.Propensity))
			want[alone["fixed"][i]] += 0.75
			want[alone["other"][i]] += 0.25
			for k, p := range r.Propensity {
				if math.Abs(p-want[k]) > 1e-15 || r.OwnPropensity[k] != 0 != (k == r.Action) || r.Share != 0.25 {
					t.Fatalf("row %d: %+v, want %v", i, r, want)
				}
			}
		}
	}
	at := policy.PriceChange{Lambda: &lambda}
	if r := w.ask(t, Request{Policy: "any", Inputs: features(x), Prices: at}).Records[0]; r.Share != 0 || r.OwnPropensity != nil || r.Propensity[r.Action] != 1 {
		t.Errorf("a canary that cannot decide: %+v", r)
	}
	if n := len(w.records(t)); n != 31*20+40 {
		t.Errorf("%d records", n)
	}
}

// TestAssignmentOfCanariesStays: a canary gets the users that it got in earlier releases.
func TestAssignmentOfCanariesStays(t *testing.T) {
	got := ""
	for user := range 40 {
		drawn := (&rival{Canary: Canary{Policy: "next", Share: 0.25}}).draws(used{}, used{}, stickyKey(&Request{User: fmt.Sprint("user ", user)}))
		got += map[bool]string{true: "1", false: "0"}[drawn]
	}
	if want := "0000010001000011010011010000000000000000"; got != want {
		t.Errorf("%s, was %s", got, want)
	}
}
