package gateway

import (
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/fromlog"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/panels"
)

// judged is a gateway with a panel of all pairs whose answers are graded. The third service is the expert judge.
func judged(t *testing.T, g panels.Grader, change func(*panels.Settings)) (*world, *gatewaytest.Server) {
	t.Helper()
	judge := gatewaytest.New(t)
	w := newWorld(t, func(s *Settings) {
		s.Panel = panelOf(t, 1, panels.All)
		s.Panel.Answers, s.Panel.Grader = "", &g
		change(&s.Panel)
		e := s.Experts["large"]
		e.BaseURL = judge.Base()
		s.Experts["judge"] = e
	})
	return w, judge
}

func asks(prompt string) panels.Grader {
	return panels.Grader{Kind: "judge", Settings: map[string]any{"model": map[string]any{"expert": "judge"}, "prompt": prompt, "scores": map[string]any{"GOOD": 1, "HALF": 0.5, "BAD": 0}}}
}

// losses are the losses of the answers of a panel by pair, -1 without outcome.
func (w *world) losses(t *testing.T) map[int]float64 {
	t.Helper()
	if err := w.log.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := decisionlog.Read(w.logged)
	if err != nil {
		t.Fatal(err)
	}
	losses := map[int]float64{}
	for d, err := range log.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		if !d.IsPanel() {
			continue
		}
		losses[d.Action] = -1
		if loss, ok := d.Outcome.LossOf(); ok {
			losses[d.Action] = loss
		}
	}
	if c := log.Counts(); c.Unmatched != 0 || c.Conflicts != 0 {
		t.Errorf("%+v", c)
	}
	return losses
}

// TestPanelJudge checks that a judge grades the answers of a panel, that its calls count against the budget, and that an answer without a
// grade has no outcome.
func TestPanelJudge(t *testing.T) {
	w, judge := judged(t, asks("{{.Question}} has {{.Answer}}: GOOD, HALF or BAD?"), func(*panels.Settings) {})
	w.large.Text = "It is rubbish."
	judge.SetFault(func(n int, rw http.ResponseWriter, r *http.Request) bool {
		text := []string{"HALF", "GOOD", "no idea", "BAD"}[n]
		fmt.Fprint(rw, gatewaytest.Completion("model-l", text))
		return true
	})
	w.post(t, question+`}`, "X-Request-Id", "r0", "X-Secret", "of the caller")
	w.api.Drain(t.Context())
	asked, rubbish := judge.Requests(), 0
	for _, r := range asked {
		if strings.Contains(string(r.Body), `"Is oil good? has It is rubbish.: GOOD`) {
			rubbish++
		}
	}
	if len(asked) != 4 || rubbish != 2 || asked[0].Header.Get("X-Request-Id") != "" {
		t.Fatalf("the judge was asked %d times: %s", len(asked), asked)
	}
	if s := w.api.Panel(); math.Abs(s.Ledger.Spent-8*0.002) > 1e-12 || s.Results["answered"] != 1 {
		t.Errorf("%+v", s)
	}
	if known, not := w.value(t, "pipe_panel_grades_total", `known="true",policy="claims"`), w.value(t, "pipe_panel_grades_total", `known="false",policy="claims"`); known != 3 || not != 1 {
		t.Errorf("%v grades known, %v not", known, not)
	}
	graded := map[string]bool{}
	for _, loss := range w.losses(t) {
		graded[fmt.Sprint(loss)] = true
	}
	if len(graded) != 4 || !graded["0.5"] || !graded["0"] || !graded["1"] || !graded["-1"] {
		t.Errorf("the losses %v", graded)
	}
	if text := w.text.String(); !strings.Contains(text, "has no grade") || strings.Contains(text, "no idea") || strings.Contains(text, "rubbish") {
		t.Errorf("the log of the server: %s", text)
	}
}

// TestPanelJudgeFails checks that a judge that fails gives no outcome, and what the budget is charged with.
func TestPanelJudgeFails(t *testing.T) {
	w, judge := judged(t, asks("{{.Answer}}: GOOD, HALF or BAD?"), func(*panels.Settings) {})
	judge.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		http.Error(rw, "out of order", http.StatusInternalServerError)
		return true
	})
	w.post(t, question+`}`)
	w.api.Drain(t.Context())
	calls := float64(len(judge.Requests())) // fewer than 4 if the breaker opened
	if s := w.api.Panel(); calls == 0 || math.Abs(s.Ledger.Spent-(4*0.002+calls*0.003)) > 1e-12 {
		t.Errorf("%v calls: %+v", calls, s)
	}
	for pair, loss := range w.losses(t) {
		if loss != -1 {
			t.Errorf("pair %d has the loss %v", pair, loss)
		}
	}
}

// TestPanelJudgeSeesTheQuestion checks that a judge grades no answers to a question without a text.
func TestPanelJudgeSeesTheQuestion(t *testing.T) {
	w, judge := judged(t, asks("{{.Answer}}: GOOD, HALF or BAD?"), func(*panels.Settings) {})
	settings := w.api.current.settings
	actions := &costs.Actions{Experts: []costs.Expert{{Name: "small"}}, Advice: []costs.Advice{{Name: "none"}}}
	j := &panelJob{backends: w.api.current, actions: actions, answers: []panelText{{&decisionlog.Record{}, "a picture"}}}
	if spent := w.api.panel.grade(j); spent != 0 || len(judge.Requests()) != 0 || !settings.Panel.Grader.Asks() {
		t.Errorf("%v spent, %d requests", spent, len(judge.Requests()))
	}
}

// TestPanelJudgeBudget checks that a request is left out where the budget has no room for the grades too.
func TestPanelJudgeBudget(t *testing.T) {
	w, judge := judged(t, asks("{{.Answer}}: GOOD, HALF or BAD?"), func(p *panels.Settings) { p.Budget.Cost = 7 * p.CallCost })
	w.post(t, question+`}`)
	w.api.Drain(t.Context())
	if s := w.api.Panel(); s.Results["budget"] != 1 || s.Ledger.Spent != 0 || len(judge.Requests()) != 0 {
		t.Errorf("%+v", s)
	}
}

// TestPanelReference checks grades by the answer of a pair, and by what most pairs say.
func TestPanelReference(t *testing.T) {
	for name, c := range map[string]struct {
		grader       panels.Grader
		small, large string
		want         map[int]float64 // by pair: small/none, small/search, large/none, large/search
	}{
		"a pair":                     {panels.Grader{Kind: "number", Reference: "large/none"}, "It is 5.", "So 7", map[int]float64{0: 1, 1: 1, 2: 0, 3: 0}},
		"a pair whose answer is bad": {panels.Grader{Kind: "number", Reference: "large/none"}, "It is 5.", "so what", map[int]float64{0: -1, 1: -1, 2: -1, 3: -1}},
		"a majority":                 {panels.Grader{Kind: "exact", Reference: panels.Majority}, "Yes", "yes ", map[int]float64{0: 0, 1: 0, 2: 0, 3: 0}},
		"no majority":                {panels.Grader{Kind: "exact", Reference: panels.Majority}, "Yes", "no", map[int]float64{0: -1, 1: -1, 2: -1, 3: -1}},
		"none":                       {panels.Grader{Kind: "regexp", Settings: map[string]any{"pattern": "^Yes", "match_only": true}}, "Yes", "no", map[int]float64{0: 0, 1: 0, 2: 1, 3: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := judged(t, c.grader, func(*panels.Settings) {})
			w.small.Text, w.large.Text = c.small, c.large
			w.post(t, question+`}`)
			w.api.Drain(t.Context())
			if got := w.losses(t); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			o := fromlog.DefaultOptions()
			o.Log, o.Out = storage.File(w.logged), storage.File(filepath.Join(t.TempDir(), "costs.parquet"))
			if c.want[0] < 0 {
				return
			}
			if r, err := fromlog.Import(t.Context(), o); err != nil || r.Complete != 1 || r.Panel != 4 {
				t.Errorf("the import has %+v: %v", r, err)
			}
		})
	}
}

// TestPanelGraderReload checks that a reload changes the grader.
func TestPanelGraderReload(t *testing.T) {
	var settings Settings
	w := newWorld(t, func(s *Settings) {
		s.Panel = panelOf(t, 1, panels.All)
		settings = *s
	})
	settings.Panel.Grader = &panels.Grader{Kind: "exact", Reference: "small/none"}
	if err := w.api.Reload(settings, func([]string) {}); err != nil {
		t.Fatal(err)
	}
	w.post(t, question+`}`)
	w.api.Drain(t.Context())
	if got := w.losses(t); len(got) != 4 || got[0] != 0 || got[3] != 0 {
		t.Errorf("%v", got)
	}
}

// TestPanelGraderSettings checks the errors of settings.
func TestPanelGraderSettings(t *testing.T) {
	model := map[string]any{"expert": "large"}
	for text, g := range map[string]panels.Grader{
		"panel.grader.kind: not set":                              {},
		"panel.grader.kind: \"guess\" is none of exact, ":         {Kind: "guess"},
		"panel.grader.reference: the grader compares answers":     {Kind: "exact"},
		"reference: is \"large\", neither majority nor a pair":    {Kind: "exact", Reference: "large"},
		"reference: is \"huge/none\"":                             {Kind: "exact", Reference: "huge/none"},
		"\"huge\" is no expert of the gateway":                    {Kind: "judge", Settings: map[string]any{"model": map[string]any{"expert": "huge"}}},
		"model: expert: not set":                                  {Kind: "judge", Settings: map[string]any{"model": map[string]any{"expert": ""}}},
		"model: not set":                                          {Kind: "judge"},
		"the gateway loads no models":                             {Kind: "pair", Reference: panels.Majority, Settings: map[string]any{"model": map[string]any{"model": "x"}, "class": "y"}},
		"but the grader compares answers with nothing":            {Kind: "judge", Reference: "large/none", Settings: map[string]any{"model": model, "prompt": "{{.Answer}}: CORRECT or WRONG?"}},
		"unknown key \"promt\"":                                   {Kind: "judge", Settings: map[string]any{"model": model, "promt": "x"}},
		"large/none does not answer every request of the panel, ": {Kind: "exact", Reference: "large/none", Settings: map[string]any{"ignore": []string{"case"}}},
	} {
		w := newWorld(t, func(*Settings) {})
		s := w.api.current.settings
		s.Panel = panelOf(t, 0.01, panels.All)
		s.Panel.Grader = &g
		if strings.Contains(text, "answer every") {
			s.Panel.Pairs = "2"
		}
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}
