package anytime

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// worldsVariable is the number of worlds of each kind, 1,000 for a verdict; without it there are a few, for the code.
const worldsVariable = "PIPE_OFFPOLICY_WORLDS"

// The interval, looked at after every unit from the first on, is ever wrong in at most 5% of worlds of each kind.
func TestNeverWrong(t *testing.T) {
	worlds, err := strconv.Atoi(os.Getenv(worldsVariable))
	units := 2000
	if err != nil {
		worlds, units = 20, 400
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, exact, normal, asymptotic := 0, 0.0, 0.0, 0.0
			var others [2]int
			for seed := range uint64(worlds) {
				s := follow(t, kind.seeded(seed), units)
				if s.wrong {
					wrong++
				}
				exact, normal = exact+s.width/float64(worlds), normal+s.normal/float64(worlds)
				asymptotic += s.asymptotic / float64(worlds)
				for i, w := range s.others {
					others[i] += map[bool]int{true: 1}[w]
				}
			}
			t.Logf("ever wrong in %d of %d worlds; from unit %d on the asymptotic one in %d and the normal one in %d", wrong, worlds, firstLook, others[0], others[1])
			t.Logf("after %d units it is %.3f wide, the asymptotic one %.3f, the normal one %.3f", units, exact, asymptotic, normal)
			if others[1] <= wrong {
				t.Error("the normal interval, looked at again and again, is not wrong more often")
			}
			if exact < asymptotic || asymptotic < normal {
				t.Error("an interval that may be looked at more often is narrower")
			}
			if 20*wrong > worlds {
				t.Error("more than 5%")
			}
			if ratio := exact / normal; ratio > 5 {
				t.Errorf("%.1f times as wide as the normal interval", ratio)
			}
		})
	}
}

type followed struct {
	wrong                     bool
	others                    [2]bool // the asymptotic and the normal interval, from firstLook on
	width, asymptotic, normal float64
}

// firstLook is the unit from which on intervals that are not exact are looked at.
const firstLook = 100

// follow adds units of a world and looks after each.
func follow(t *testing.T, w *world, units int) (f followed) {
	t.Helper()
	s := DefaultSettings(0, 1)
	s.Gain = w.base != nil
	q, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	truth := w.truth(s.Gain)
	for i := 1; i <= units; i++ {
		if err := q.Add(w.unit()...); err != nil {
			t.Fatal(err)
		}
		v := q.Interval()
		f.wrong = f.wrong || truth < v.Low || truth > v.High
		f.width = v.High - v.Low
		if i < firstLook {
			continue
		}
		a, err := q.Asymptotic(units)
		if err != nil {
			t.Fatal(err)
		}
		f.asymptotic, f.normal = a.High-a.Low, 2*1.96*math.Sqrt(q.state.Squares)/float64(i)
		f.others[0] = f.others[0] || truth < a.Low || truth > a.High
		f.others[1] = f.others[1] || math.Abs(truth-a.Mean) > f.normal/2
	}
	return f
}

// expectation is what a term of a row is expected to be under the logged probabilities, with cost[a] for each pair.
func expectation(r Row, costs []float64, term func(r *Row) float64) (sum float64) {
	for a, p := range r.Logged {
		r.Executed, r.Cost = a, costs[a]
		if p > 0 {
			sum += p * term(&r)
		}
	}
	return sum
}

// drawnRow has random probabilities and estimates of five pairs, some of which are nearly never logged.
func drawnRow(rng *rand.Rand) (r Row, costs []float64) {
	distribution := func(power float64) (p []float64) {
		sum := 0.0
		for range 5 {
			p = append(p, math.Pow(rng.Float64(), power))
			sum += p[len(p)-1]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	}
	r = Row{Logged: distribution(6), Target: distribution(4), Baseline: distribution(2)}
	for range 5 {
		r.Estimates, costs = append(r.Estimates, rng.Float64()), append(costs, rng.Float64())
	}
	return r, costs
}

// Under the logged probabilities every term is expected to be the estimand, and no term is below -k. With the executed
// pair's weight in the second term it would not be so.
func TestTermsAreUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	biased := 0
	for range 500 {
		r, costs := drawnRow(rng)
		s := DefaultSettings(0, 1)
		s.Truncation = 1 + 2*rng.Float64()
		for _, s.Gain = range []bool{false, true} {
			want := 0.0
			for a := range costs {
				want += r.mass(a, s.Gain) * (1 - costs[a])
			}
			offset := map[bool]float64{true: 1}[s.Gain]
			term := func(pick func(terms) float64) float64 {
				return expectation(r, costs, func(r *Row) float64 {
					x, err := s.terms(r)
					if err != nil {
						t.Fatal(err)
					}
					if min(x.lower, x.upper) < -s.Truncation-1e-9 {
						t.Fatalf("a term of %v for truncation %v", min(x.lower, x.upper), s.Truncation)
					}
					return pick(x)
				})
			}
			near(t, term(func(x terms) float64 { return x.plain }), want)
			near(t, term(func(x terms) float64 { return x.lower }), want+offset)
			near(t, term(func(x terms) float64 { return x.upper }), 1-want)
		}
		wrong := expectation(r, costs, func(r *Row) float64 { return executedWeightOnly(r, s.Truncation) })
		right := 0.0
		for a, p := range r.Target {
			right += p * (1 - costs[a])
		}
		if math.Abs(wrong-right) > 1e-3 {
			biased++
		}
	}
	if biased < 250 {
		t.Errorf("the wrong second term was found in %d of 500 rows", biased)
	}
}

// executedWeightOnly is the wrong term: k / w of the executed pair truncates the estimates of all pairs.
func executedWeightOnly(r *Row, k float64) float64 {
	w := r.Target[r.Executed] / r.Logged[r.Executed]
	sum := w * (1 - r.Cost - min(1-r.Estimates[r.Executed], k/w))
	for a, p := range r.Target {
		sum += p * min(1-r.Estimates[a], k/w)
	}
	return sum
}

func near(t *testing.T, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
		t.Fatalf("%v instead of %v", got, want)
	}
}

// Without estimates only the executed pair's probability is needed, and the terms are those of IPS.
func TestUnknownProbabilities(t *testing.T) {
	s := DefaultSettings(0, 2)
	nan := math.NaN()
	r := Row{Executed: 1, Cost: 0.5, Logged: []float64{nan, 0.25, nan}, Target: []float64{0.5, 0.5, 0}}
	x, err := s.terms(&r)
	if err != nil {
		t.Fatal(err)
	}
	near(t, x.lower, 2*0.75)
	near(t, x.upper, 2*0.25)
	r.Estimates = []float64{1, 1, 1}
	if _, err := s.terms(&r); err == nil || !strings.Contains(err.Error(), "pair 0") {
		t.Error(err)
	}
}

// The asymptotic interval is narrowest for the planned number of units, and its formula is that of the paper.
func TestAsymptotic(t *testing.T) {
	q, err := New(DefaultSettings(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := q.Add(Row{Cost: float64(i % 2), Logged: []float64{1}, Target: []float64{1}}); err != nil {
			t.Fatal(err)
		}
	}
	width := func(planned int) float64 {
		v, err := q.Asymptotic(planned)
		if err != nil || math.Abs(v.Mean-0.5) > 1e-9 {
			t.Fatal(v, err)
		}
		return v.High - v.Low
	}
	// alpha 0.05, 1,000 units of deviation 1/2: rho^2 = (-0.0025 + 5.99146 + ln(6.98896)) / 1000 = 0.0079333
	if w := width(1000); math.Abs(w-2*0.5*math.Sqrt(2*(7.9333+1)/(1000*7.9333)*math.Log(math.Sqrt(7.9333+1)/0.05))) > 1e-5 {
		t.Error(w)
	}
	if width(1000) > width(700) || width(1000) > width(1400) {
		t.Error(width(700), width(1000), width(1400))
	}
	if _, err := q.Asymptotic(0); err == nil {
		t.Error("0 planned units")
	}
}

// Choices that the system never executes count with the worst cost, on either side.
func TestUnsupported(t *testing.T) {
	q, err := New(DefaultSettings(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	for range 20_000 {
		if err := q.Add(Row{Executed: 0, Logged: []float64{1, 0}, Target: []float64{0.6, 0.4}, Estimates: []float64{0, 0}}); err != nil {
			t.Fatal(err)
		}
	}
	if v := q.Interval(); v.Low > 0 || v.High < 0.4 || v.High > 0.45 || math.Abs(q.Unsupported()-0.4) > 1e-9 {
		t.Errorf("%+v, %v unsupported", v, q.Unsupported())
	}
}

// A gain is exactly 0 on rows on which both policies choose alike.
func TestAlikeIsZero(t *testing.T) {
	s := DefaultSettings(0, 1)
	s.Gain = true
	r, _ := drawnRow(rand.New(rand.NewPCG(1, 1)))
	r.Baseline = r.Target
	x, err := s.terms(&r)
	if err != nil || x.plain != 0 || x.lower != 1 || x.upper != 1 || x.design != 0 {
		t.Errorf("%+v, %v", x, err)
	}
}

// The sums are those of confseq where every row is executed by its own policy (testdata/confseq.py).
func TestConfseq(t *testing.T) {
	var judge struct{ X, Lambda, Lower []float64 }
	text, err := os.ReadFile("testdata/confseq.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &judge); err != nil || len(judge.X) != 300 {
		t.Fatal(len(judge.X), err)
	}
	var b Side
	variance, sum := 0.25, 0.0
	squares := 0.25 // confseq starts with one row of mean 1/2 and variance 1/4
	for i, x := range judge.X {
		near(t, bet(i+1, variance, 0.025), judge.Lambda[i])
		centre := 0.0
		if i > 0 {
			centre = b.Sum / float64(i)
		}
		b.add(x, centre, judge.Lambda[i])
		near(t, max(0, b.low(0.025)), judge.Lower[i]) // confseq ends at 0
		sum += x
		mean := (0.5 + sum) / float64(i+2)
		squares += (x - mean) * (x - mean)
		variance = squares / float64(i+2)
	}
}

// A sequence goes on from its state as JSON as if it had not stopped.
func TestResume(t *testing.T) {
	w := kinds["share, gain"]
	drawn := w.seeded(4)
	s := DefaultSettings(0, 1)
	s.Gain = true
	a, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	b := a
	for i := range 300 {
		u := drawn.unit()
		if i == 150 {
			text, err := json.Marshal(a.State())
			if err != nil {
				t.Fatal(err)
			}
			var state State
			if err := json.Unmarshal(text, &state); err != nil {
				t.Fatal(err)
			}
			if b, err = Resume(state); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Add(u...); err != nil {
			t.Fatal(err)
		}
		if b != a {
			if err := b.Add(u...); err != nil {
				t.Fatal(err)
			}
		}
	}
	if a == b || a.State() != b.State() || a.Units() != 300 {
		t.Errorf("%+v and %+v", a.State(), b.State())
	}
	state := a.State()
	state.Squares = math.Inf(1)
	if _, err := Resume(state); err == nil {
		t.Error("a state that is not finite")
	}
}

// Every error names the column, and nothing is added.
func TestErrors(t *testing.T) {
	good := Row{Executed: 1, Cost: 0.5, Logged: []float64{0.5, 0.5}, Target: []float64{0, 1}, Baseline: []float64{1, 0}, Estimates: []float64{0, 0}}
	nan := math.NaN()
	for want, change := range map[string]func(r *Row){
		"executed: pair 2 of 2":              func(r *Row) { r.Executed = 2 },
		"executed: pair -1 of 2":             func(r *Row) { r.Executed = -1 },
		"cost: NaN":                          func(r *Row) { r.Cost = nan },
		"cost: 1.5 is outside the range":     func(r *Row) { r.Cost = 1.5 },
		"logged: 1 values for 2 pairs":       func(r *Row) { r.Logged = r.Logged[:1] },
		"logged: pair 1 was executed with":   func(r *Row) { r.Logged = []float64{1, 0} },
		"pair 1 was executed with prob":      func(r *Row) { r.Logged = []float64{1, nan} },
		"logged: pair 0: -0.5":               func(r *Row) { r.Logged = []float64{-0.5, 0.5} },
		"logged: pair 1: 1.5":                func(r *Row) { r.Logged = []float64{0, 1.5} },
		"logged: pair 0: +Inf":               func(r *Row) { r.Logged = []float64{math.Inf(1), 0.5} },
		"logged: the probabilities add up":   func(r *Row) { r.Logged = []float64{0.1, 0.1} },
		"logged: pair 0: its probability":    func(r *Row) { r.Logged, r.Target = []float64{nan, 0.5}, []float64{0.5, 0.5} },
		"a weight that is too large":         func(r *Row) { r.Logged = []float64{1, 1e-300} },
		"target: pair 0: NaN":                func(r *Row) { r.Target = []float64{nan, 1} },
		"target: no pairs":                   func(r *Row) { r.Target = nil },
		"baseline: the probabilities add up": func(r *Row) { r.Baseline = []float64{1, 1} },
		"baseline: the gain needs":           func(r *Row) { r.Baseline = nil },
		"estimates: pair 1: NaN":             func(r *Row) { r.Estimates = []float64{0, nan} },
		"estimates: 1 values for 2 pairs":    func(r *Row) { r.Estimates = []float64{0} },
	} {
		s := DefaultSettings(0, 1)
		s.Gain = true
		q, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		bad := good
		change(&bad)
		err = q.Add(good, bad)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("%q: %v", want, err)
		}
		if q.Units() != 0 || q.State().Design != 0 {
			t.Errorf("%q: %+v", want, q.State())
		}
	}
	for _, s := range []Settings{{}, {High: 1, Alpha: 1, Truncation: 1}, {High: 1, Alpha: 0.1}, {Low: 1, High: 1, Alpha: 0.1, Truncation: 1}, {Low: -math.MaxFloat64, High: math.MaxFloat64, Alpha: 0.1, Truncation: 1}} {
		if _, err := New(s); err == nil {
			t.Errorf("%+v", s)
		}
	}
	if q, _ := New(DefaultSettings(0, 1)); q.Add() == nil {
		t.Error("a unit without rows")
	}
}

func BenchmarkAdd(b *testing.B) {
	kind := kinds["share, gain"]
	w := kind.seeded(1)
	s := DefaultSettings(0, 1)
	s.Gain = true
	q, err := New(s)
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]Row, 1024)
	for i := range rows {
		rows[i] = w.unit()[0]
	}
	for i := 0; b.Loop(); i++ {
		if err := q.Add(rows[i%len(rows)]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
