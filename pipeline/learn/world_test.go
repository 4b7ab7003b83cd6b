package learn

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/config"
	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/decisionlog"
)

// begin is the time of the first decision of a world.
var begin = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// world is a planted one on which "small" is right for x < 0 and "large" for x > 0. The deployed policy always takes small.
type world struct {
	dir      string
	rng      *rand.Rand
	n        int
	same     bool    // nothing can be learned: features say nothing
	epsilon  float64 // of exploration
	share    float64 // of the candidate
	deployed decisionlog.PolicyInfo
	trial    *decisionlog.PolicyInfo // the candidate; nil: none
	choose   func(x float32) int     // of the candidate; nil: it gets no share
	change   func(r *decisionlog.Record, o *decisionlog.Outcome)
}

func actions() *costs.Actions {
	return &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.1}}, Advice: []costs.Advice{{Name: "none"}},
		Features: costs.FeatureSource{Name: "planted", Dim: 2},
	}
}

// newWorld makes a folder with the deployed policy.
func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), rng: rand.New(rand.NewPCG(seed, 9)), epsilon: 0.4}
	w.deployed = w.constant(t, "live.onnx", 0)
	return w
}

// constant writes a policy that always takes one pair.
func (w *world) constant(t testing.TB, name string, pair int) decisionlog.PolicyInfo {
	t.Helper()
	p := &policy.Policy{Method: "auto", Recipe: "auto", Lambda: 1, Decoder: policy.DecoderFixed, Fixed: pair, Dim: 2, Actions: actions(), Info: map[string]string{}}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	at := config.Path(w.path(name))
	if _, err := decide.WritePolicy(t.Context(), at.Location(), m); err != nil {
		t.Fatal(err)
	}
	return w.info(t, name)
}

// info is what a log says of a policy file.
func (w *world) info(t testing.TB, name string) decisionlog.PolicyInfo {
	t.Helper()
	f, err := openPolicy(t.Context(), config.Path(w.path(name)).Location())
	if err != nil {
		t.Fatal(err)
	}
	return decisionlog.PolicyInfo{Name: f.name, Digest: f.digest, Actions: f.Info.Actions, Lambda: f.Info.Lambda, Dim: 2}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// options are those of a loop in the folder of the world.
func (w *world) options() Options {
	o := DefaultOptions()
	o.Now = begin.Add(time.Duration(w.n)*time.Minute + 24*time.Hour)
	o.Log, o.Deployed, o.Candidate, o.State = config.Path(w.path("log")), config.Path(w.path("live.onnx")), config.Path(w.path("next.onnx")), config.Path(w.path("loop"))
	o.Auto.Networks = nil
	return o
}

func wrong(pair int, x float32) float64 {
	if pair == 0 == (x < 0) {
		return 0.1
	}
	return 0.8
}

// step makes a decision and its outcome.
func (w *world) step() (*decisionlog.Record, decisionlog.Outcome) {
	x := float32(2*w.rng.Float64() - 1)
	own, by, pick := w.probabilities(0), &w.deployed, 0
	r := &decisionlog.Record{
		Time: begin.Add(time.Duration(w.n) * time.Minute).UnixMicro(), ID: fmt.Sprintf("%08d", w.n), Request: fmt.Sprintf("r%d", w.n), Source: "decide", Lambda: 1,
		ExpertFees: []float64{0, 0.1}, AdviceFees: []float64{0}, Keep: 1, Executed: -1, Available: []bool{true, true}, Features: []float32{x, float32(w.rng.NormFloat64())}, Propensity: own,
	}
	if w.choose != nil {
		pick = w.choose(x)
		other := w.probabilities(pick)
		r.Share, r.Canary = w.share, w.rng.Float64() < w.share
		r.Propensity = []float64{(1-w.share)*own[0] + w.share*other[0], (1-w.share)*own[1] + w.share*other[1]}
		if r.Canary {
			own, by, r.Greedy = other, w.trial, pick
		}
		r.OwnPropensity = own
	}
	r.Policy, r.Digest = by.Name, by.Digest
	if w.rng.Float64() >= own[0] {
		r.Action = 1
	}
	told := x
	if w.same {
		told = float32(2*w.rng.Float64() - 1)
	}
	correct := w.rng.Float64() >= wrong(r.Action, told)
	o := decisionlog.Outcome{ID: r.ID, Time: r.Time + 2e6, Correct: &correct}
	w.n++
	if w.change != nil {
		w.change(r, &o)
	}
	return r, o
}

// probabilities are those of a policy that takes a pair, with exploration.
func (w *world) probabilities(pair int) []float64 {
	p := []float64{w.epsilon / 2, w.epsilon / 2}
	p[pair] += 1 - w.epsilon
	return p
}

// serve appends n decisions to the log. An outcome without an id is not written.
func (w *world) serve(t testing.TB, n int) {
	t.Helper()
	log, err := decisionlog.Open(w.path("log"), decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*decisionlog.PolicyInfo{&w.deployed, w.trial} {
		if p != nil {
			if err := log.Policy(*p); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range n {
		r, o := w.step()
		if err := log.Add(r); err != nil {
			t.Fatal(err)
		}
		if o.ID == "" {
			continue
		}
		if _, err := log.Outcome(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeFile(folder, name, text string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666)
}
