package offpolicy

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/models"
	"pipe/models/regress"
	"pipe/onnx/ort/orttest"
)

// smallLog is a valid log of four rows and two pairs.
func smallLog() *Log {
	return &Log{
		Pairs: 2, Executed: []int{0, 1, 0, 1}, Cost: []float64{1, 2, 3, 4},
		Logged:    []float64{0.5, 0.5, 0.5, 0.5, 0.25, 0.75, 0.5, 0.5},
		Target:    []float64{0, 1, 0, 1, 1, 0, 1, 0},
		Baseline:  []float64{1, 0, 0, 1, 1, 0, 1, 0},
		Estimates: []float64{1, 1, 2, 2, 3, 3, 4, 4},
		Cluster:   []int{0, 1, 2, 3}, Weight: []float64{1, 1, 1, 2},
	}
}

// Every problem of a log is an error with its row and column.
func TestLogErrors(t *testing.T) {
	if err := smallLog().Validate(); err != nil {
		t.Fatal(err)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for want, change := range map[string]func(l *Log){
		"column executed: no rows":             func(l *Log) { l.Executed = nil },
		"0 pairs":                              func(l *Log) { l.Pairs = 0 },
		"column cost: 3 values":                func(l *Log) { l.Cost = l.Cost[:3] },
		"column logged: 7 values":              func(l *Log) { l.Logged = l.Logged[:7] },
		"column target: 0 values":              func(l *Log) { l.Target = nil },
		"column baseline: 1 values":            func(l *Log) { l.Baseline = l.Baseline[:1] },
		"column estimates: 1 values":           func(l *Log) { l.Estimates = l.Estimates[:1] },
		"column cluster: 1 values":             func(l *Log) { l.Cluster = l.Cluster[:1] },
		"column weight: 1 values":              func(l *Log) { l.Weight = l.Weight[:1] },
		"row 2: executed: pair 5 of 2":         func(l *Log) { l.Executed[1] = 5 },
		"row 3: cost: NaN":                     func(l *Log) { l.Cost[2] = nan },
		"row 3: logged: pair 0 was executed":   func(l *Log) { l.Logged[4] = 0 },
		"row 1: logged: pair 0 was executed":   func(l *Log) { l.Logged[0] = nan },
		"row 1: logged: pair 1: -0.5":          func(l *Log) { l.Logged[1] = -0.5 },
		"row 1: logged: pair 1: +Inf":          func(l *Log) { l.Logged[1] = inf },
		"row 1: logged: pair 1: 1.5":           func(l *Log) { l.Logged[1] = 1.5 },
		"row 1: logged: the probabilities add": func(l *Log) { l.Logged[1] = 0.1 },
		"row 4: target: pair 1: NaN":           func(l *Log) { l.Target[7] = nan },
		"row 4: baseline: the probabilities":   func(l *Log) { l.Baseline[7] = 1 },
		"row 4: estimates: pair 1: +Inf":       func(l *Log) { l.Estimates[7] = inf },
		"row 4: column weight: 0":              func(l *Log) { l.Weight[3] = 0 },
		"row 4: column weight: NaN":            func(l *Log) { l.Weight[3] = nan },
		"row 2: column logged: a ratio of":     func(l *Log) { l.Logged[2], l.Logged[3] = 1, 1e-320 },
	} {
		l := smallLog()
		change(l)
		_, err := Estimate(l, DefaultSettings())
		var data *DataError
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &data) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestSettingErrors(t *testing.T) {
	for want, change := range map[string]func(l *Log, s *Settings){
		`estimator "guess", known are `:         func(_ *Log, s *Settings) { s.Estimator = "guess" },
		"tau NaN":                               func(_ *Log, s *Settings) { s.Tau = math.NaN() },
		"lambda -1":                             func(_ *Log, s *Settings) { s.Lambda = -1 },
		`interval "exact", known are bootstrap`: func(_ *Log, s *Settings) { s.Interval = "exact" },
		"level 1 is outside":                    func(_ *Log, s *Settings) { s.Level = 1 },
		"1 resamples":                           func(_ *Log, s *Settings) { s.Resamples = 1 },
		"dr needs estimates":                    func(l *Log, _ *Settings) { l.Estimates = nil },
		"target: snips: the policy never chooses": func(l *Log, s *Settings) {
			s.Estimator, l.Target = "snips", []float64{0, 1, 1, 0, 0, 1, 1, 0}
		},
		models.ErrOneDraw.Error(): func(l *Log, _ *Settings) { l.Cluster = []int{1, 1, 1, 1} },
	} {
		l, s := smallLog(), DefaultSettings()
		change(l, &s)
		if _, err := Estimate(l, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Laws of every estimator: a row of weight 2 counts as two rows, and where the log executed what the target chooses and the
// estimates are right, the cost is the mean cost.
func TestEveryEstimator(t *testing.T) {
	weighted, twice := smallLog(), smallLog()
	twice.Executed, twice.Cost, twice.Cluster = append(twice.Executed, 1), append(twice.Cost, 4), append(twice.Cluster, 4)
	twice.Logged, twice.Target = append(twice.Logged, 0.5, 0.5), append(twice.Target, 1, 0)
	twice.Baseline, twice.Estimates = append(twice.Baseline, 1, 0), append(twice.Estimates, 4, 4)
	twice.Weight = nil
	certain := smallLog()
	certain.Logged, certain.Target, certain.Weight = []float64{1, 0, 0, 1, 1, 0, 0, 1}, []float64{1, 0, 0, 1, 1, 0, 0, 1}, nil
	for _, e := range Estimators() {
		t.Run(e.Name, func(t *testing.T) {
			estimate := func(l *Log) *Result {
				s := DefaultSettings()
				s.Estimator, s.Interval = e.Name, IntervalNormal
				r, err := Estimate(l, s)
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			a, b := estimate(weighted), estimate(twice)
			near(t, a.Target.Mean, b.Target.Mean)
			near(t, a.Gain.Mean, b.Gain.Mean)
			near(t, estimate(certain).Target.Mean, 2.5)
		})
	}
}

// The gain of a policy over itself is exactly 0, with an interval of no width.
func TestGainOverItself(t *testing.T) {
	for _, interval := range []string{IntervalBootstrap, IntervalNormal} {
		l, s := drawJudged(3).Log, DefaultSettings()
		l.Baseline, s.Interval = l.Target, interval
		r, err := Estimate(l, s)
		if err != nil || *r.Gain != (models.Interval{}) {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

func TestSupport(t *testing.T) {
	l := smallLog()
	l.Pairs = 3 // the third pair is never executed
	l.Logged = []float64{0.5, 0.5, 0, 0.5, math.NaN(), math.NaN(), 0.25, 0.5, 0.25, 0.5, 0.5, 0}
	l.Target = []float64{0, 1, 0, 0.5, 0.5, 0, 0, 0, 1, 0, 1, 0}
	l.Executed, l.Baseline, l.Estimates, l.Weight = []int{0, 0, 0, 1}, nil, nil, []float64{1, 1, 1, 3}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	s := SupportOf(l)
	near(t, s.Unsupported, 1.0/6)
	near(t, s.Unknown, 0.5/6)
	near(t, s.Effective, (1+3*2)*(1+3*2)/(1.0+36))
	near(t, s.Pairs[1].Chosen, (1+0.5+3)/6)
	near(t, *s.Pairs[1].Smallest, 0.5)
	near(t, *s.Pairs[2].Smallest, 0.25)
	if s.Rows != 4 || s.Clusters != 4 || s.Pairs[0].Executed != 3 || !slices.Equal(s.Without, []int{2}) {
		t.Errorf("%+v", s)
	}
	if len(s.Largest) != 4 || s.Largest[0] != (LargeRatio{Row: 3, Pair: 1, Ratio: 2}) || s.Largest[1].Row != 1 {
		t.Errorf("%+v", s.Largest)
	}
	l.Target = []float64{0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1}
	if s = SupportOf(l); s.Effective != 0 || s.Unsupported != 1 || s.Pairs[0].Smallest != nil {
		t.Errorf("%+v", s)
	}
}

// fitted estimates costs by the default fit of an estimator.
func fitted(t *testing.T, l *Log, x Features, name string) []float64 {
	t.Helper()
	e, err := EstimatorNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	q, err := FitCosts(t.Context(), l, x, DefaultFitSettings(e))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Fitted costs are near the expected ones and make intervals narrower than without, also those of mrdr. The same seed gives the same estimates.
func TestFitCosts(t *testing.T) {
	w := world{users: 400, requests: 5, logged: soft(0.2), baseline: true}
	l, x := w.draw(3)
	for i := range l.Cost {
		l.Cost[i]++
	}
	s := DefaultSettings()
	s.Interval = IntervalNormal
	width := func(name string, q []float64) float64 {
		s.Estimator, l.Estimates = name, q
		r, err := Estimate(l, s)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := truth()
		if math.Abs(r.Target.Mean-1-want) > r.Target.High-r.Target.Low {
			t.Errorf("%s: %+v, the truth is %v", name, r.Target, want)
		}
		return r.Gain.High - r.Gain.Low
	}
	plain, q := width("ips", nil), fitted(t, l, x, "dr")
	if dr := width("dr", q); dr > 0.8*plain {
		t.Errorf("the interval is %v wide with fitted costs, %v without", dr, plain)
	}
	if dr := width("mrdr", fitted(t, l, x, "mrdr")); dr > 0.8*plain {
		t.Errorf("the interval is %v wide with costs fitted by mrdr, %v without", dr, plain)
	}
	off := 0.0
	for i, v := range q {
		angle := math.Atan2(float64(x.Values[i/worldPairs*2]), float64(x.Values[i/worldPairs*2+1])) / 2
		off += math.Abs(v-1-expected(i%worldPairs, angle)) / float64(len(q))
	}
	if off > 0.08 {
		t.Errorf("fitted costs are off by %v", off)
	}
	if !slices.Equal(q, fitted(t, l, x, "dr")) {
		t.Error("other estimates with the same seed")
	}
}

// The estimates of a row do not depend on the costs of its cluster.
func TestFitIsCrossed(t *testing.T) {
	w := world{users: 30, requests: 4, logged: soft(0.5)}
	l, x := w.draw(8)
	before := fitted(t, l, x, "dr")
	for i, user := range l.Cluster {
		if user == 7 {
			l.Cost[i] += 100
		}
	}
	after := fitted(t, l, x, "dr")
	changed := false
	for i, user := range l.Cluster {
		same := slices.Equal(before[i*l.Pairs:(i+1)*l.Pairs], after[i*l.Pairs:(i+1)*l.Pairs])
		if user == 7 && !same {
			t.Fatalf("row %d is estimated from its own cluster", i)
		}
		changed = changed || !same
	}
	if !changed {
		t.Error("no row is estimated from the others")
	}
}

// A pair with one row gives its cost to all others, and a pair with none the mean of all.
func TestFitFewRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const rows = 40
	l, x := &Log{Pairs: 3}, Features{Dim: 1}
	for i := range rows {
		a := map[bool]int{true: 1}[i == 11]
		l.Executed, l.Cost = append(l.Executed, a), append(l.Cost, float64(a)*9)
		l.Logged, l.Target = append(l.Logged, 0.9, 0.05, 0.05), append(l.Target, 0, 0, 1)
		x.Values = append(x.Values, rng.Float32())
	}
	for _, name := range []string{"dr", "mrdr"} { // the target never takes an executed pair: mrdr has nothing to fit
		q := fitted(t, l, x, name)
		for i := range rows {
			row := q[i*3 : (i+1)*3]
			if row[0] != 0 || row[1] != 9 && row[1] != 0 || !(row[2] >= 0 && row[2] < 0.3) {
				t.Fatalf("%s: row %d: %v", name, i, row)
			}
		}
		if q[3*12+1] != 9 && q[3*13+1] != 9 {
			t.Errorf("%s: the pair with one row is estimated by %v", name, q[:10])
		}
	}
}

func TestFitErrors(t *testing.T) {
	for want, change := range map[string]func(l *Log, x *Features, s *FitSettings){
		"column features: 3 values":          func(_ *Log, x *Features, _ *FitSettings) { x.Values = x.Values[:3] },
		"row 2: column features[0]: NaN":     func(_ *Log, x *Features, _ *FitSettings) { x.Values[1] = float32(math.NaN()) },
		"1 folds":                            func(_ *Log, _ *Features, s *FitSettings) { s.Folds = 1 },
		"needs a family":                     func(_ *Log, _ *Features, s *FitSettings) { s.Family = nil },
		"clip 0":                             func(_ *Log, _ *Features, s *FitSettings) { s.Weighting, s.Clip = WeightInverse, 0 },
		`weighting "some"`:                   func(_ *Log, _ *Features, s *FitSettings) { s.Weighting = "some" },
		"at least 2 clusters":                func(l *Log, _ *Features, _ *FitSettings) { l.Cluster = []int{2, 2, 2, 2} },
		"row 1: logged: pair 0 was executed": func(l *Log, _ *Features, _ *FitSettings) { l.Logged[0] = 0 },
		"row 2: column logged: probability 1": func(l *Log, _ *Features, s *FitSettings) {
			l.Logged[2], l.Logged[3], s.Weighting = 1, 1e-200, WeightMRDR
		},
	} {
		l, x := smallLog(), Features{Values: []float32{1, 2, 3, 4}, Dim: 1}
		s := DefaultFitSettings(doublyRobust)
		change(l, &x, &s)
		if _, err := FitCosts(t.Context(), l, x, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Propensities that were not logged are estimated well enough for the estimates of costs, where features say all.
func TestEstimatePropensities(t *testing.T) {
	w := world{users: 4000, requests: 1, logged: soft(0.4)}
	l, x := w.draw(4)
	networks := regress.Networks{
		Candidates: []regress.Architecture{{Hidden: []int{16}, WeightDecay: 0.01, LearningRate: 1e-2}}, Steps: 400, Seeds: 1, Seed: 1,
		Workers: 1, Options: models.Options{Runtime: orttest.Open(t, 0)},
	}
	for name, family := range map[string]regress.Family{
		"networks":   networks,
		"neighbours": regress.Neighbours{Runtime: orttest.Open(t, 0), K: []int{100}},
	} {
		s := PropensitySettings{CrossFit: CrossFit{Family: family, Folds: 3, Seed: 1}, Floor: 0.01}
		p, err := EstimatePropensities(t.Context(), l.Executed, l.Pairs, l.Cluster, x, s)
		if err != nil {
			t.Fatal(err)
		}
		off := 0.0
		for i, v := range p.Logged {
			off += math.Abs(v-l.Logged[i]) / float64(len(p.Logged))
		}
		if off > 0.08 {
			t.Errorf("%s: estimates are off by %v", name, off)
		}
		cells := 0
		for _, c := range p.Calibration {
			cells += c.Cells
			if c.Cells > 500 && math.Abs(c.Expected-c.Observed) > 0.06 || c.Expected < c.Low-1e-9 || c.Expected > c.High+1e-9 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if cells != len(p.Logged) || len(p.Calibration) < 4 {
			t.Errorf("%s: %+v", name, p.Calibration)
		}
		guessed := *l
		guessed.Logged = p.Logged
		r, err := Estimate(&guessed, DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := truth(); math.Abs(r.Target.Mean-want) > 0.06 {
			t.Errorf("%s: %+v, the truth is %v", name, r.Target, want)
		}
		t.Logf("%s: off by %.3f, %d raised, %+v, %+v", name, off, p.Raised, r.Target, p.Calibration)
	}
}

// Where features played no part, the propensities are the shares of the pairs in the other folds; a pair that was never
// executed gets the floor.
func TestConstantPropensities(t *testing.T) {
	executed := []int{0, 1, 0, 0, 1, 0, 0, 0}
	x := Features{Values: make([]float32, len(executed)), Dim: 1}
	s := PropensitySettings{CrossFit: CrossFit{Family: regress.Constant{}, Folds: len(executed)}, Floor: 0.01}
	p, err := EstimatePropensities(t.Context(), executed, 3, nil, x, s)
	if err != nil || p.Raised != len(executed) {
		t.Fatal(p, err)
	}
	near(t, math.Round(1e6*p.Logged[1])/1e6, math.Round(1e6*(2.0/7)/1.01)/1e6)
	near(t, math.Round(1e6*p.Logged[2])/1e6, math.Round(1e6*0.01/1.01)/1e6)
	for want, change := range map[string]func(s *PropensitySettings){
		"floor 0 ":      func(s *PropensitySettings) { s.Floor = 0 },
		"floor 0.5":     func(s *PropensitySettings) { s.Floor = 0.5 },
		"row 2: column": func(*PropensitySettings) { executed[1] = 3 },
	} {
		s := s
		change(&s)
		if _, err := EstimatePropensities(t.Context(), executed, 3, nil, x, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := EstimatePropensities(t.Context(), executed[2:], 3, []int{1}, Features{Values: x.Values[2:], Dim: 1}, s); err == nil {
		t.Error("one cluster for six rows")
	}
}

// An estimate of 100,000 rows and 12 pairs.
func BenchmarkEstimate(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const rows, pairs = 100_000, 12
	l := &Log{Pairs: pairs}
	for i := range rows {
		p := distribution(rng, pairs, 1)
		l.Executed, l.Cost, l.Cluster = append(l.Executed, draw(rng, p)), append(l.Cost, rng.Float64()), append(l.Cluster, i/3)
		l.Logged, l.Target = append(l.Logged, p...), append(l.Target, distribution(rng, pairs, 3)...)
		l.Baseline = append(l.Baseline, distribution(rng, pairs, 3)...)
		for range pairs {
			l.Estimates = append(l.Estimates, rng.Float64())
		}
	}
	for _, interval := range []string{IntervalBootstrap, IntervalNormal} {
		b.Run(interval, func(b *testing.B) {
			s := DefaultSettings()
			s.Interval = interval
			for b.Loop() {
				if _, err := Estimate(l, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
