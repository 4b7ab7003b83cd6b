package ope

import (
	"slices"
	"strings"
	"testing"

	"pipe/models"
)

// The intervals cover the known values over repeated draws, of a log of one policy and of one with a canary, with users and
// without. The exact interval covers always. Estimators
// that trade bias for variance may miss.
func TestIntervalsCoverTheTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	for name, world := range map[string]world{"one policy": {}, "canary": {share: 0.3}, "canary, users": {share: 0.3, users: 150}} {
		const draws, rows = 24, 700
		covered, exact := map[string]int{}, 0
		for seed := range uint64(draws) {
			w := newWorld(seed)
			w.share, w.users = world.share, world.users
			r := w.judged(t, rows, func(o *Options) { o.Estimator = map[bool]string{true: All, false: "dr"}[name == "canary"] })
			truth := w.loggedValue() - value[2]
			for _, e := range r.Estimates {
				covers := func(what string, v models.Interval, truth float64) {
					if v.Low <= truth && truth <= v.High {
						covered[e.Name+" "+what]++
					}
				}
				covers("policy", e.Policy, value[2])
				covers("logged", e.Against, w.loggedValue())
				covers("gain", e.Gain, truth)
			}
			if a := r.Anytime; a.Why != "" {
				t.Fatal(a.Why)
			} else if a.Gain.Low <= truth && truth <= a.Gain.High && a.Policy.Low <= value[2] && value[2] <= a.Policy.High {
				exact++
			}
			if !r.Logged.Fits || r.Outcomes.Depends || r.Support.Untried != 0 {
				t.Errorf("%s, seed %d: %+v", name, seed, r)
			}
		}
		for what, n := range covered {
			t.Logf("%s: %s: %d of %d", name, what, n, draws)
			if biased := slices.Contains([]string{"dm", "switch", "dros"}, strings.Fields(what)[0]); !biased && n < 19 { // fewer of 24 happen once in 300 times
				t.Errorf("%s: %s: only %d of %d intervals cover the truth", name, what, n, draws)
			}
		}
		if exact < draws {
			t.Errorf("%s: only %d of %d exact intervals cover the truth", name, exact, draws)
		}
	}
}
