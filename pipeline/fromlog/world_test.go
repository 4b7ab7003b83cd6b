package fromlog

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
)

// world is a planted one: what every pair costs is known, and so is the value of the target policy, which takes the small
// expert without advice for x < 0, else the large one, with search where it is not available without.
type world struct {
	rng   *rand.Rand
	about decisionlog.PolicyInfo
}

func newWorld(seed uint64) *world {
	a := &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.2}}, Advice: []costs.Advice{{Name: "none"}, {Name: "search", Fee: 0.3}},
	}
	return &world{rand.New(rand.NewPCG(seed, 1)), decisionlog.PolicyInfo{Name: "greedy", Digest: "sha256:planted", Actions: a, Lambda: 0.5, Dim: 2}}
}

// The target policy costs 0.5 (0.5 - 0.4/2) for x < 0. Otherwise it costs 0.9 (0.1 + 0.1/2 + 0.2) + 0.1 (0.05 + 0.2 + 0.15).
const targetValue = 0.5*(0.5-0.4/2) + 0.5*(0.9*(0.1+0.1/2+0.2)+0.1*(0.05+0.2+0.15))

// wrong is the probability that a pair is wrong.
func wrong(pair int, x float64) float64 {
	return [...]float64{0.5 + 0.4*x, 0.35, 0.1 + 0.1*x, 0.05}[pair]
}

// step decides once, with exploration: 0.3 is spread over the available pairs, the rest is for small/none.
func (w *world) step(n int) (*decisionlog.Record, decisionlog.Outcome) {
	const epsilon = 0.3
	x := 2*w.rng.Float64() - 1
	r := &decisionlog.Record{
		Time: int64(n) * 1e6, ID: fmt.Sprintf("%d-%06d", w.rng.Uint32(), n), Request: fmt.Sprintf("r%d", n), Source: "decide", Policy: w.about.Name,
		Digest: w.about.Digest, Lambda: 0.5, ExpertFees: []float64{0, 0.2}, AdviceFees: []float64{0, 0.3}, Keep: 1, Executed: -1,
		Available: []bool{true, true, w.rng.Float64() >= 0.1, true}, Features: []float32{float32(x), float32(n)}, Propensity: make([]float64, 4),
	}
	available := 0.0
	for _, ok := range r.Available {
		if ok {
			available++
		}
	}
	u, sum := w.rng.Float64(), 0.0
	r.Action = -1
	for i, ok := range r.Available {
		if ok {
			r.Propensity[i] = epsilon / available
		}
		if i == 0 {
			r.Propensity[i] += 1 - epsilon
		}
		if sum += r.Propensity[i]; r.Action < 0 && u < sum {
			r.Action = i
		}
	}
	if r.Action < 0 { // u is within rounding of 1
		r.Action = 3
	}
	r.ExpectedCost = make([]float32, 4)
	for i := range r.ExpectedCost {
		r.ExpectedCost[i] = float32(wrong(i, x) + r.FeeOf(i))
	}
	correct := w.rng.Float64() >= wrong(r.Action, x)
	return r, decisionlog.Outcome{ID: r.ID, Time: r.Time + 1, Correct: &correct}
}

// log writes n decisions with their outcomes by the real writer, and returns the folder.
func (w *world) log(t *testing.T, n int, s decisionlog.Settings) string {
	t.Helper()
	folder := t.TempDir()
	to, err := decisionlog.Open(folder, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Policy(w.about); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		r, o := w.step(i)
		if err := to.Add(r); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Outcome(o); err != nil && s.Sample == 1 {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// target is the pair of the target policy.
func target(r *decisionlog.Record) int {
	switch {
	case r.Features[0] < 0:
		return 0
	case r.Available[2]:
		return 2
	}
	return 3
}

// The propensities in the log are the frequencies of the choices, and inverse propensity weights recover the value of
// another policy within the interval, over repeated draws, also of a sampled log.
func TestPropensitiesAreFrequencies(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	for _, sample := range []float64{1, 0.5} {
		const seeds, rows = 20, 800
		covered := 0
		var expected, chosen, variance [4]float64
		for seed := range seeds {
			s := decisionlog.DefaultSettings()
			s.Sample = sample
			l, err := decisionlog.Read(newWorld(uint64(seed)).log(t, rows, s))
			if err != nil {
				t.Fatal(err)
			}
			sum, squares, n := 0.0, 0.0, 0.0
			for d, err := range l.Decisions() {
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range d.Propensity {
					expected[i] += p
					variance[i] += p * (1 - p)
				}
				chosen[d.Action]++
				cost, ok := d.Cost()
				if !ok {
					t.Fatal("no outcome")
				}
				n++
				if d.Action == target(d.Record) {
					v := cost / d.Propensity[d.Action]
					sum += v
					squares += v * v
				}
			}
			mean := sum / n
			if math.Abs(mean-targetValue) <= 1.96*math.Sqrt((squares/n-mean*mean)/n) {
				covered++
			}
		}
		if covered < 16 { // of 20 intervals of 95%: fewer happen once in 2,500 times
			t.Errorf("sample %v: %d of %d intervals cover the value", sample, covered, seeds)
		}
		t.Logf("sample %v: %d of %d intervals of 95%% cover %v", sample, covered, seeds, targetValue)
		for i := range chosen {
			if z := (chosen[i] - expected[i]) / math.Sqrt(variance[i]); math.Abs(z) > 4 {
				t.Errorf("sample %v: pair %d was chosen %v times, %v were expected (z = %.1f)", sample, i, chosen[i], expected[i], z)
			}
		}
	}
}

// The summary of a log states what is known of the planted world: the logging policy costs more than large/none where that is
// available.
func TestSummary(t *testing.T) {
	const available = 0.775*0.5 + 0.075*(0.5+0.3+0.4)
	const own = 0.9*available + 0.1*(0.8*0.5+0.1*(0.5+0.4))
	for _, sample := range []float64{1, 0.5} {
		s := decisionlog.DefaultSettings()
		s.Sample = sample
		out, err := decisionlog.Summarize(newWorld(3).log(t, 3000, s))
		if err != nil {
			t.Fatal(err)
		}
		p := out.Policies[0]
		for name, c := range map[string]struct {
			got  decisionlog.WeightedMean
			want float64
		}{
			"expected cost": {p.Expected, own}, "measured cost": {p.Measured, own}, "expected cost of known rows": {p.Believed, own},
			"saving": {p.Saving, 0.3 - available}, "measured saving": {p.Proven, 0.3 - available},
		} {
			half := (*c.got.High - *c.got.Low) / 2
			if half <= 0 || half > 0.2 || math.Abs(c.got.Mean-c.want) > 2*half {
				t.Errorf("sample %v: %s is %s, expected %.4f", sample, name, c.got.Text(), c.want)
			}
		}
		if p.BestFixed != "large/none" || !p.Explores || math.Abs(p.Least-0.075) > 1e-9 || p.Keep != sample || p.Explored == 0 || p.Losses != p.Records {
			t.Errorf("%+v", p)
		}
	}
}

// One row has no interval.
func TestSummaryOfOneRow(t *testing.T) {
	out, err := decisionlog.Summarize(newWorld(3).log(t, 1, decisionlog.DefaultSettings()))
	if err != nil {
		t.Fatal(err)
	}
	m := out.Policies[0].Measured
	if m.Rows != 1 || m.Low != nil || m.High != nil || m.Text() != fmt.Sprintf("%.4f (1 row)", m.Mean) {
		t.Errorf("the measured cost of one row is %s, %+v", m.Text(), m)
	}
}
