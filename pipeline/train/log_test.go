package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

var loggedActions = &costs.Actions{
	Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.1}, {Name: "odd"}}, Advice: []costs.Advice{{Name: "none"}},
}

// loggedWorld writes a log of n decisions by a policy that takes small with exploration of large; odd was executed seldom. Large is good
// where the first feature is positive, and small elsewhere, or both are alike.
func loggedWorld(t *testing.T, n int, alike bool) string {
	t.Helper()
	folder, rng := t.TempDir(), rand.New(rand.NewPCG(3, 9))
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Policy(decisionlog.PolicyInfo{Name: "live", Digest: "sha256:live", Actions: loggedActions, Lambda: 1, Dim: 2}); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		x := 2*rng.Float32() - 1
		wrong := []float64{0.1, 0.7, 0.4}
		if x > 0 && !alike {
			wrong = []float64{0.8, 0.1, 0.4}
		}
		p := []float64{0.799, 0.2, 0.001}
		action := 0
		if u := rng.Float64(); u < 0.2 {
			action = 1
		} else if u < 0.201 {
			action = 2
		}
		r := &decisionlog.Record{
			Time: int64(i+1) * 1e6, ID: fmt.Sprintf("d%d", i), Source: "decide", Policy: "live", Digest: "sha256:live", Lambda: 1, ExpertFees: []float64{0, 0.1, 0},
			AdviceFees: []float64{0}, Keep: 1, Executed: -1, Action: action, Greedy: 0, Available: []bool{true, true, true}, Propensity: p,
			Features: []float32{x, rng.Float32()}, ExpectedCost: []float32{0.3, 0.3, 0.3},
		}
		if err := to.Add(r); err != nil {
			t.Fatal(err)
		}
		if i%10 == 9 {
			continue // no outcome
		}
		correct := rng.Float64() >= wrong[action]
		if _, err := to.Outcome(decisionlog.Outcome{ID: r.ID, Time: r.Time + 1, Correct: &correct}); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// logOptions train on a log without networks.
func logOptions(t *testing.T, folder string) Options {
	t.Helper()
	orttest.Open(t, 0) // skips without the runtime
	o := DefaultOptions()
	o.Auto.Networks = nil
	o.Log.Log, o.Out = storage.File(folder), storage.File(filepath.Join(t.TempDir(), "out"))
	return o
}

// A log is learned from: the policy says which part of it, who decided, and how often every pair was executed. --since leaves out earlier
// decisions.
func TestTrainOnALog(t *testing.T) {
	o := logOptions(t, loggedWorld(t, 3000, false))
	o.Log.Since = time.UnixMicro(1001 * 1e6).UTC()
	r, err := Run(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	want := Window{First: "1970-01-01T00:16:41Z", Last: "1970-01-01T00:49:59Z", Decisions: 2000, Outcomes: 1800, Known: 1800, Loggers: []string{"live@sha256:live"}}
	if got := *r.Log; got.First != want.First || got.Last != want.Last || got.Decisions != want.Decisions || got.Outcomes != want.Outcomes || got.Known != want.Known || !slices.Equal(got.Loggers, want.Loggers) {
		t.Errorf("window %+v, want %+v", got, want)
	}
	g := r.Auto[0].Guard
	if len(r.Policies) != 1 || r.Policies[0].Stays != "" || r.Stays() || g.Deployed != byLog || g.Fallback || g.Gain < 0.1 {
		t.Fatalf("%+v, guard %+v, %+v", r.Policies, g, g.Log)
	}
	_, info, err := policy.Read(filepath.Join(o.Out.String(), r.Policies[0].File))
	if err != nil {
		t.Fatal(err)
	}
	var window Window
	if err := json.Unmarshal([]byte(info.Info[policy.LogKey]), &window); err != nil || window.Outcomes != 1800 {
		t.Errorf("the file says %q, %v", info.Info[policy.LogKey], err)
	}
	if s := info.Info[policy.SupportKey]; !strings.Contains(s, `"odd/none"`) || !strings.Contains(s, `"untried":true`) {
		t.Errorf("support in the file: %q", s)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "odd/none was executed on") || !strings.Contains(text.String(), "learned from 1800 outcomes of 2000 decisions") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// Where the learned policy is not shown to be better than the deployed one, nothing is exported, an earlier policy in the folder is removed,
// and the deployed file is as it was.
func TestDeployedPolicyStays(t *testing.T) {
	o := logOptions(t, loggedWorld(t, 3000, false))
	first, err := Run(t.Context(), o, stage.Quiet)
	if err != nil || first.Stays() {
		t.Fatalf("%+v, %v", first, err)
	}
	text, err := os.ReadFile(filepath.Join(o.Out.String(), first.Policies[0].File))
	if err != nil {
		t.Fatal(err)
	}
	deployed := filepath.Join(t.TempDir(), "live.onnx")
	if err := os.WriteFile(deployed, text, 0o644); err != nil {
		t.Fatal(err)
	}
	o.Deployed = storage.File(deployed)
	again, err := Run(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(deployed)
	if err != nil || !slices.Equal(after, text) {
		t.Errorf("the deployed file changed, %v", err)
	}
	p := again.Policies[0]
	if !again.Stays() || p.Stays != deployed || p.File != "" || !again.Auto[0].Guard.Fallback || !strings.HasPrefix(again.Auto[0].Guard.Deployed, deployed+"@") {
		t.Errorf("%+v, guard %+v", p, again.Auto[0].Guard)
	}
	left, err := filepath.Glob(filepath.Join(o.Out.String(), "*.onnx*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files %v, %v", left, err)
	}
	var b strings.Builder
	if err := again.WriteText(&b); err != nil || !strings.Contains(b.String(), "the deployed policy stays") {
		t.Errorf("%v\n%s", err, &b)
	}
}

// What does not go together, or cannot be judged, is one error.
func TestTrainLogRefuses(t *testing.T) {
	folder := loggedWorld(t, 60, true)
	for want, change := range map[string]func(o *Options){
		"a cost tensor is given too":           func(o *Options) { o.Tensor = storage.File("costs.parquet") },
		"only the recipe auto learns from":     func(o *Options) { o.Recipe = "paper"; o.Methods = nil },
		"fees of a log are those":              func(o *Options) { o.PriceFile = storage.File("prices.yaml") },
		"only policies of the recipe auto for": func(o *Options) { o.Deployed = storage.File("live.onnx"); o.AnyPrice = true },
		"deployed and warm":                    func(o *Options) { o.Deployed, o.Warm = storage.File("a.onnx"), storage.File("b.onnx") },
		"no such file":                         func(o *Options) { o.Deployed = storage.File("none.onnx") },
		"it has to be after --since":           func(o *Options) { o.Log.Since, o.Log.Until = time.UnixMicro(2e6), time.UnixMicro(1e6) },
	} {
		o := logOptions(t, folder)
		change(&o)
		_, err := Run(t.Context(), o, stage.Quiet)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	o := logOptions(t, t.TempDir())
	var data *costs.DataError
	if _, err := Run(t.Context(), o, stage.Quiet); !errors.As(err, &data) {
		t.Errorf("no log: %v", err)
	}
}
