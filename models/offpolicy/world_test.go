package offpolicy

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"pipe/models"
)

// worldsVariable is the number of worlds of a law, 1,000 for a verdict; without it there are a few, for the code.
const worldsVariable = "PIPE_OFFPOLICY_WORLDS"

func worldsOf(few int) int {
	if n, err := strconv.Atoi(os.Getenv(worldsVariable)); err == nil {
		return n
	}
	return few
}

// world is a law: users with a taste x, requests of theirs with a feature near it, four pairs.
type world struct {
	users, requests int
	logged          func(x float64) []float64
	keep            func(x float64) float64 // the chance that a row is kept; nil: 1
	baseline        bool
	fit             bool // estimates are fitted to the log; else they are the expected costs, moved
}

const worldPairs = 4

// expected is the cost of pair a at x.
func expected(a int, x float64) float64 { return 0.5 + 0.4*math.Sin(2*x+1.5*float64(a)) }

// wanted is the pair that the target takes, deployed the one of the baseline.
func wanted(x float64) int { return cheapest(x) }

func deployed(x float64) int { return cheapest(x + 0.5) }

func cheapest(x float64) (best int) {
	for a := range worldPairs {
		if expected(a, x) < expected(best, x) {
			best = a
		}
	}
	return best
}

func only(a int) []float64 {
	p := make([]float64, worldPairs)
	p[a] = 1
	return p
}

// exploring is the deployed policy with a share of epsilon for all pairs.
func exploring(epsilon float64) func(x float64) []float64 {
	return func(x float64) []float64 {
		p := only(deployed(x))
		for a := range p {
			p[a] = (1-epsilon)*p[a] + epsilon/worldPairs
		}
		return p
	}
}

// soft prefers pairs that cost less under the deployed policy's view.
func soft(temperature float64) func(x float64) []float64 {
	return func(x float64) []float64 {
		p, sum := make([]float64, worldPairs), 0.0
		for a := range p {
			p[a] = math.Exp(-expected(a, x+0.5) / temperature)
			sum += p[a]
		}
		for a := range p {
			p[a] /= sum
		}
		return p
	}
}

// draw draws a log with its features.
func (w world) draw(seed uint64) (*Log, Features) {
	rng := rand.New(rand.NewPCG(seed, 23))
	l, f := &Log{Pairs: worldPairs}, Features{Dim: 2}
	for user := range w.users {
		taste, mood := 4*rng.Float64(), 0.3*rng.NormFloat64()
		for range w.requests {
			x := taste + 0.3*rng.Float64()
			logged := w.logged(x)
			a := draw(rng, logged)
			cost := expected(a, x) + mood + 0.2*rng.NormFloat64()
			if w.keep != nil {
				if rng.Float64() >= w.keep(x) {
					continue
				}
				l.Weight = append(l.Weight, 1/w.keep(x))
			}
			l.Executed, l.Cost, l.Cluster = append(l.Executed, a), append(l.Cost, cost), append(l.Cluster, user)
			l.Logged, l.Target = append(l.Logged, logged...), append(l.Target, only(wanted(x))...)
			if w.baseline {
				l.Baseline = append(l.Baseline, only(deployed(x))...)
			}
			for b := range worldPairs {
				l.Estimates = append(l.Estimates, 0.7*expected(b, x)+0.1)
			}
			f.Values = append(f.Values, float32(math.Sin(2*x)), float32(math.Cos(2*x)))
		}
	}
	return l, f
}

// truth is the expected cost of the target and its gain, by a fine grid of tastes and requests.
func truth() (target, gain float64) {
	const points = 400
	for i := range points {
		for k := range points {
			x := 4*(float64(i)+0.5)/points + 0.3*(float64(k)+0.5)/points
			c := expected(wanted(x), x)
			target += c / points / points
			gain += (expected(deployed(x), x) - c) / points / points
		}
	}
	return target, gain
}

// covers counts the intervals of 95% that have the truth.
func covers(t *testing.T, w world, worlds int, interval string) (target, gain int, width float64) {
	t.Helper()
	wantTarget, wantGain := truth()
	s := DefaultSettings()
	s.Interval, s.Resamples = interval, 500
	for seed := range uint64(worlds) {
		l, x := w.draw(seed)
		if w.fit {
			l.Estimates = fitted(t, l, x, s.Estimator)
		}
		r, err := Estimate(l, s)
		if err != nil {
			t.Fatal(err)
		}
		if r.Target.Low <= wantTarget && wantTarget <= r.Target.High {
			target++
		}
		if r.Gain.Low <= wantGain && wantGain <= r.Gain.High {
			gain++
		}
		width += (r.Gain.High - r.Gain.Low) / float64(worlds)
	}
	return target, gain, width
}

// Intervals of 95% have the truth in 95% of worlds: in 93 to 97% of 1,000, and in most of a few.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("statistics of many draws")
	}
	worlds := worldsOf(40)
	for name, w := range map[string]world{
		"epsilon":     {users: 600, requests: 1, logged: exploring(0.2), baseline: true},
		"softmax":     {users: 600, requests: 1, logged: soft(0.25), baseline: true},
		"users":       {users: 150, requests: 8, logged: soft(0.25), baseline: true},
		"fitted":      {users: 150, requests: 4, logged: exploring(0.3), baseline: true, fit: true},
		"kept by row": {users: 1000, requests: 1, logged: soft(0.25), baseline: true, keep: func(x float64) float64 { return 0.3 + 0.6*math.Mod(x, 1) }},
	} {
		for _, interval := range []string{IntervalBootstrap, IntervalNormal} {
			t.Run(name+"/"+interval, func(t *testing.T) {
				target, gain, width := covers(t, w, worlds, interval)
				t.Logf("of %d worlds %d have the cost and %d the gain in their interval; that of the gain is %.3f wide", worlds, target, gain, width)
				least, most := 0.85, 1.0
				if worlds >= 1000 {
					least, most = 0.93, 0.97
				}
				for _, covered := range []int{target, gain} {
					if share := float64(covered) / float64(worlds); share < least || share > most {
						t.Errorf("%.3f of the intervals have the truth", share)
					}
				}
			})
		}
	}
}

// Rows of a user depend on each other: without clusters the interval of the cost would be far too narrow.
func TestClustersMatter(t *testing.T) {
	l, _ := world{users: 60, requests: 40, logged: soft(0.25)}.draw(1)
	s := DefaultSettings()
	with, err := Estimate(l, s)
	if err != nil {
		t.Fatal(err)
	}
	l.Cluster = nil
	without, err := Estimate(l, s)
	if err != nil {
		t.Fatal(err)
	}
	width := func(v models.Interval) float64 { return v.High - v.Low }
	if width(with.Target) < 1.5*width(without.Target) {
		t.Errorf("%+v with clusters, %+v without", with.Target, without.Target)
	}
}

// A canary's own propensity of 1 gives a wrong answer, that of the mixture the right one.
func TestPropensityOfTheMixture(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const rows, share = 60_000, 0.05
	mixture, own := &Log{Pairs: worldPairs}, &Log{Pairs: worldPairs}
	for range rows {
		x := 4*rng.Float64() + 0.3*rng.Float64()
		live, canary := only(deployed(x)), only(wanted(x))
		drawn, mixed := live, make([]float64, worldPairs)
		if rng.Float64() < share {
			drawn = canary
		}
		for a := range mixed {
			mixed[a] = (1-share)*live[a] + share*canary[a]
		}
		a := draw(rng, drawn)
		cost := expected(a, x) + 0.2*rng.NormFloat64()
		for l, logged := range map[*Log][]float64{mixture: mixed, own: drawn} {
			l.Executed, l.Cost = append(l.Executed, a), append(l.Cost, cost)
			l.Logged, l.Target = append(l.Logged, logged...), append(l.Target, canary...)
		}
	}
	want, _ := truth()
	s := DefaultSettings()
	s.Interval = IntervalNormal
	for _, name := range []string{"ips", "snips"} {
		s.Estimator = name
		right, err := Estimate(mixture, s)
		if err != nil {
			t.Fatal(err)
		}
		wrong, err := Estimate(own, s)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: true cost %.3f, with the mixture's propensity %.3f, with the drawn policy's own %.3f", name, want, right.Target.Mean, wrong.Target.Mean)
		if math.Abs(right.Target.Mean-want) > 0.015 {
			t.Errorf("%s with the propensity of the mixture: %+v, the truth is %v", name, right.Target, want)
		}
		if wrong.Target.Low <= want && want <= wrong.Target.High {
			t.Errorf("%s with the propensity of the drawn policy: %+v, the truth is %v", name, wrong.Target, want)
		}
	}
}
