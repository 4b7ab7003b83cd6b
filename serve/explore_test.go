package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/config"
	"pipe/onnx/ort/orttest"
	"pipe/serve/decision"
	"pipe/serve/gateway/panels"
	"pipe/serve/ledger"
)

// exploring configures a server with a log and a ledger.
func exploring(folder string) func(*Config) {
	return func(c *Config) {
		c.Log.Folder = config.Path(folder)
		c.Decision.Explore = decision.Explore{
			SquareCB: true, OutcomesWithin: 5, Ledger: &decision.Ledger{Settings: ledger.Settings{Cost: 100, Per: ledger.Day}, Losses: []float64{0, 1}},
		}
	}
}

// TestExploration starts a server that explores with a ledger, and checks what its log, its page, its metrics and its files
// say, also when outcomes stop coming.
func TestExploration(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "log")
	r := start(t, exploring(folder), nil)
	ask := func() (explores bool) {
		t.Helper()
		status, _, body := r.do(t, "POST", "/v1/decide", `{"features": [1, 2, 3, 4]}`, "Content-Type", "application/json")
		var answer struct {
			Decisions []struct{ Propensity float64 }
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 || len(answer.Decisions) != 1 {
			t.Fatalf("%d %s: %v", status, body, err)
		}
		return answer.Decisions[0].Propensity < 1
	}
	explored := 0
	for range 5 {
		if ask() {
			explored++
		}
	}
	if explored == 0 || ask() || ask() {
		t.Errorf("%d explored, and some after outcomes stopped", explored)
	}
	_, _, metrics := r.do(t, "GET", "/metrics", "")
	for _, want := range []string{`pipe_ledger_allowance{ledger="exploration"} 100`, `pipe_ledger_stopped{ledger="exploration"} 0`, `reason="outcomes"} 2`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	_, _, html := r.do(t, "GET", "/", "")
	for _, want := range []string{"SquareCB, gamma 10 sqrt(t)", "ledger of exploration", "nothing is explored until one comes", "Nothing is explored: no outcome came for the last 7 decisions."} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	_, _, state := r.do(t, "GET", "/page/state", "")
	if !strings.Contains(state, `"exploration":{"how":"SquareCB`) {
		t.Errorf("the state has no exploration: %s", state)
	}
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"msg":"exploration","how":"SquareCB, gamma 10 sqrt(t)"`, `"allowance":100`, "nothing is explored until an outcome comes"} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log lacks %s: %s", want, r.log)
		}
	}
	for _, file := range []string{"explore.json", "explore-ledger.json"} {
		if _, err := os.Stat(filepath.Join(folder, file)); err != nil {
			t.Error(err)
		}
	}
	again := start(t, exploring(folder), nil)
	if x := again.parts.decider.Exploration(); x.SinceOutcome != 7 || !x.Silent || !(x.Ledger.Spent > 0) {
		t.Errorf("a restart forgets: %+v", x)
	}
}

// TestExplorationSettings checks combinations that cannot work.
func TestExplorationSettings(t *testing.T) {
	panel := func(c *Config) {
		p := panels.Default()
		p.Share, p.Budget, p.CallCost, p.Answers = 0.1, ledger.Settings{Cost: 1, Per: ledger.Day}, 0.1, "answers.jsonl"
		c.Gateway.Panel = p
	}
	for want, change := range map[string]func(*Config){
		"decision.explore.ledger: it is kept in the folder of the decision log; set log.folder": func(c *Config) { c.Log.Folder = "" },
		"decision.explore.ledger.cost: 0 is not":                                                func(c *Config) { c.Decision.Explore.Ledger.Cost = 0 },
		"decision.explore.ledger.per: \"week\"":                                                 func(c *Config) { c.Decision.Explore.Ledger.Per = "week" },
		"decision.explore.ledger.losses: [1 0]":                                                 func(c *Config) { c.Decision.Explore.Ledger.Losses = []float64{1, 0} },
		"explore: ledger: nothing is explored":                                                  func(c *Config) { c.Decision.Explore.SquareCB = false },
		"choose one":                                                                            func(c *Config) { c.Decision.Explore.Epsilon = 0.1 },
		"gamma belongs to squarecb":                                                             func(c *Config) { c.Decision.Explore = decision.Explore{Epsilon: 0.1, Gamma: 3} },
		"gamma -1":                                                                              func(c *Config) { c.Decision.Explore.Gamma = -1 },
		"outcomes_within -1":                                                                    func(c *Config) { c.Decision.Explore.OutcomesWithin = -1 },
		"gateway.panel: there are no experts":                                                   panel,
		"gateway.panel: its answers are logged":                                                 func(c *Config) { panel(c); c.Log.Folder = "" },
		"log.sample 0.5 breaks up":                                                              func(c *Config) { panel(c); c.Log.Sample = 0.5 },
		"set log.features to full":                                                              func(c *Config) { panel(c); c.Log.Features = "digest" },
	} {
		c := DefaultConfig()
		exploring("log")(&c)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestExplorationIsChecked: a check says which policy a ledger cannot bound, and writes no file.
func TestExplorationIsChecked(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "log")
	c := DefaultConfig()
	exploring(folder)(&c)
	c.Policies.Paths = []string{aPolicy(t)}
	if r := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)}); len(r.Problems) > 0 {
		t.Errorf("%v", r.Problems)
	}
	c.Decision.Explore.Ledger.Losses = nil
	if r := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)}); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "has no calibration of expected losses; set losses there") {
		t.Errorf("%v", r.Problems)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("a check made the folder of the log")
	}
}
