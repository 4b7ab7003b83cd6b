package ope

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// world is a planted one: what every pair costs is known. A live policy takes small/none, with exploration; a canary with a
// share takes large/none, also with exploration.
type world struct {
	rng    *rand.Rand
	share  float64 // of the canary
	users  int     // 0: none
	change func(n int, r *decisionlog.Record, o *decisionlog.Outcome)
	about  [2]decisionlog.PolicyInfo
}

func newWorld(seed uint64) *world {
	a := &costs.Actions{Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.2}}, Advice: []costs.Advice{{Name: "none"}, {Name: "search", Fee: 0.3}}}
	w := &world{rng: rand.New(rand.NewPCG(seed, 2))}
	for i, name := range []string{"live", "canary"} {
		w.about[i] = decisionlog.PolicyInfo{Name: name, Digest: "sha256:" + name, Actions: a, Lambda: 0.5, Dim: 2}
	}
	return w
}

// wrong is the probability that a pair is wrong.
func wrong(pair int, x float64) float64 {
	return [...]float64{0.5 + 0.4*x, 0.35, 0.1 + 0.1*x, 0.05}[pair]
}

// value is the mean cost of each pair: x is from -1 to 1, and lambda 0.5.
var value = [...]float64{0.5, 0.35 + 0.15, 0.1 + 0.2, 0.05 + 0.2 + 0.15}

const epsilon = 0.3

// greedy has the probabilities of a policy that takes a pair, with exploration.
func greedy(pair int) []float64 {
	p := []float64{epsilon / 4, epsilon / 4, epsilon / 4, epsilon / 4}
	p[pair] += 1 - epsilon
	return p
}

// loggedValue is the mean cost of the system.
func (w *world) loggedValue() (sum float64) {
	live, canary := greedy(0), greedy(2)
	for a, v := range value {
		sum += ((1-w.share)*live[a] + w.share*canary[a]) * v
	}
	return sum
}

func (w *world) step(n int) (*decisionlog.Record, decisionlog.Outcome) {
	x := 2*w.rng.Float64() - 1
	by := 0
	if w.rng.Float64() < w.share {
		by = 1
	}
	own := greedy([]int{0, 2}[by])
	p := w.about[by]
	r := &decisionlog.Record{
		Time: 1767225600e6 + int64(n)*1e6, ID: fmt.Sprintf("%08d", n), Request: fmt.Sprintf("r%d", n), Source: "decide", Policy: p.Name, Digest: p.Digest,
		Canary: by == 1, Share: w.share, Lambda: 0.5, ExpertFees: []float64{0, 0.2}, AdviceFees: []float64{0, 0.3}, Keep: 1, Executed: -1,
		Available: []bool{true, true, true, true}, Features: []float32{float32(x), float32(w.rng.NormFloat64())}, Propensity: own, Greedy: []int{0, 2}[by],
	}
	if w.share > 0 {
		r.Propensity, r.OwnPropensity = make([]float64, 4), own
		for a := range own {
			r.Propensity[a] = (1-w.share)*greedy(0)[a] + w.share*greedy(2)[a]
		}
	}
	if w.users > 0 {
		r.User = fmt.Sprint("u", w.rng.IntN(w.users))
	}
	u := w.rng.Float64()
	for a, v := range own {
		if r.Action = a; u < v {
			break
		}
		u -= v
	}
	correct := w.rng.Float64() >= wrong(r.Action, x)
	o := decisionlog.Outcome{ID: r.ID, Time: r.Time + 2e6, Correct: &correct}
	if w.change != nil {
		w.change(n, r, &o)
	}
	return r, o
}

// log writes n decisions with their outcomes, and returns the folder. An outcome without an id is not written.
func (w *world) log(t testing.TB, n int) storage.Location {
	t.Helper()
	folder := t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range w.about {
		if err := to.Policy(p); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		r, o := w.step(i)
		if err := to.Add(r); err != nil {
			t.Fatal(err)
		}
		if o.ID == "" {
			continue
		}
		if _, err := to.Outcome(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return storage.File(folder)
}

// judged runs an evaluation of a constant pair on a log.
func (w *world) judged(t testing.TB, n int, change func(*Options)) *Report {
	t.Helper()
	o := DefaultOptions()
	o.Log, o.Policy, o.Resamples = w.log(t, n), "pair:large/none", 500
	if change != nil {
		change(&o)
	}
	r, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
