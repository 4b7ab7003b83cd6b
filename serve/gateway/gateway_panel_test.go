package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/fromlog"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/panels"
	"pipe/serve/ledger"
)

// panelOf are the settings of a panel. The fee of every call is 0.002.
func panelOf(t *testing.T, share float64, pairs string) panels.Settings {
	p := panels.Default()
	p.Share, p.Pairs, p.Budget, p.CallCost = share, pairs, ledger.Settings{Cost: 1, Per: ledger.Day}, 0.003
	p.Answers = config.Path(filepath.Join(t.TempDir(), "answers.jsonl"))
	return p
}

// answersOf reads the file of answers.
func answersOf(t *testing.T, p panels.Settings) (all []panelAnswer) {
	t.Helper()
	text, err := os.ReadFile(string(p.Answers))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var a panelAnswer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// value is that of a metric with labels such as {policy="claims",result="answered"}; 0 if it is not there.
func (w *world) value(t *testing.T, name, labels string) float64 {
	t.Helper()
	all, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range all {
		for _, m := range family.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			if family.GetName() == name && strings.Join(have, ",") == labels {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// TestPanelMakesCompleteRows checks that all pairs answer a request after the caller's answer, with records of the same request
// and features that no figure of decisions counts, and that their outcomes are taken.
func TestPanelMakesCompleteRows(t *testing.T) {
	p := panelOf(t, 1, panels.All)
	w := newWorld(t, func(s *Settings) { s.Panel = p })
	plain := w.post(t, question+`}`, "X-Request-Id", "r0")
	if plain.status != 200 || plain.body != gatewaytest.Completion("model-s", w.small.Text) || plain.header.Get("X-Pipe-Expert") != "small" {
		t.Fatalf("%d %s", plain.status, plain.body)
	}
	if a := w.post(t, question+`,"stream":true,"stream_options":{"include_usage":true}}`, "X-Request-Id", "r1"); a.status != 200 || !strings.Contains(a.body, "[DONE]") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	w.post(t, question+`}`, "X-Request-Id", "r2")
	w.api.Drain(t.Context())
	for _, f := range []*gatewaytest.Server{w.small, w.large} {
		for _, r := range f.Requests() {
			if r.Header.Get("X-Request-Id") == "r1" && strings.Contains(string(r.Body), `"stream":true`) && f == w.large {
				t.Errorf("a panel streams: %s", r.Body)
			}
		}
	}
	if n := len(w.small.Requests()) + len(w.large.Requests()); n != 3+12 {
		t.Errorf("%d calls", n)
	}
	decisions, err := testutil.GatherAndCount(w.registry, "pipe_decisions_total")
	if err != nil || decisions != 1 || w.value(t, "pipe_decisions_total", `advice="search",expert="small",policy="claims"`) != 3 {
		t.Errorf("%d kinds of decisions: %v", decisions, err)
	}
	if n := w.value(t, "pipe_panel_requests_total", `policy="claims",result="answered"`); n != 3 {
		t.Errorf("%v requests of a panel", n)
	}
	if got := w.value(t, "pipe_panel_fees_total", `expert="large"`); math.Abs(got-6*0.002) > 1e-12 {
		t.Errorf("fees of a panel %v", got)
	}
	if got := w.value(t, "pipe_fees_total", `expert="small"`); math.Abs(got-3*0.002) > 1e-12 {
		t.Errorf("fees of callers %v", got)
	}
	if s := w.api.Panel(); math.Abs(s.Ledger.Spent-12*0.002) > 1e-12 || s.Results["answered"] != 3 {
		t.Errorf("%+v", s)
	}
	w.grade(t, p)
	w.checkPanelRecords(t, p)
	o := fromlog.DefaultOptions()
	o.Log, o.Out = storage.File(w.logged), storage.File(filepath.Join(t.TempDir(), "costs.parquet"))
	if r, err := fromlog.Import(t.Context(), o); err != nil || r.Complete != 3 || r.Instances != 3 || r.Panel != 12 || r.NoOutcome != 3 {
		t.Errorf("the import has %+v: %v", r, err)
	}
}

// grade sends an outcome for every answer of a panel.
func (w *world) grade(t *testing.T, p panels.Settings) {
	t.Helper()
	for _, a := range answersOf(t, p) {
		if !strings.Contains(string(a.Messages), "Is oil good?") || strings.Contains(string(a.Messages), "Oil is good.") || !strings.Contains(string(a.Answer), "It is a test.") {
			t.Errorf("%+v", a)
		}
		loss := 0.25
		if _, err := w.decider.Outcome(decisionlog.Outcome{ID: a.ID, Loss: &loss}); err != nil {
			t.Error(err)
		}
	}
	if n, err := testutil.GatherAndCount(w.registry, "pipe_outcome_loss"); err != nil || n != 0 {
		t.Errorf("outcomes of a panel are counted as those of decisions: %d, %v", n, err)
	}
}

// checkPanelRecords checks the records of three requests with panels of all pairs.
func (w *world) checkPanelRecords(t *testing.T, p panels.Settings) {
	t.Helper()
	pairs, users := map[string][]int{}, map[string]*decisionlog.Record{}
	all := w.records(t)
	for _, r := range all {
		if !r.IsPanel() {
			users[r.Request] = r
		}
	}
	for _, r := range all {
		if !r.IsPanel() {
			continue
		}
		pairs[r.Request] = append(pairs[r.Request], r.Action)
		u := users[r.Request]
		if u == nil || !slices.Equal(r.Features, u.Features) || r.Executed != r.Action || r.Keep != 1 || r.Propensity[r.Action] != 1 || r.User != u.User ||
			!r.FeeKnown || r.Fee != 0.002 || r.Error != "" || !decisionlog.IsPanelID(r.ID) || decisionlog.IsPanelID(u.ID) || len(r.Attempts) != 1 || r.Stages.Expert == 0 {
			t.Errorf("%+v of %+v", r, u)
		}
	}
	for request := range users {
		if slices.Sort(pairs[request]); !slices.Equal(pairs[request], []int{0, 1, 2, 3}) {
			t.Errorf("%s: the pairs %v", request, pairs[request])
		}
	}
	if len(users) != 3 || len(answersOf(t, p)) != 12 {
		t.Errorf("%d requests, %d answers", len(users), len(answersOf(t, p)))
	}
}

// TestPanelDraws checks the share of the requests, how often each pair is drawn, and the probability that records state.
func TestPanelDraws(t *testing.T) {
	const requests = 300
	p := panelOf(t, 0.5, "2")
	p.Queue = requests
	w := newWorld(t, func(s *Settings) { s.Panel = p })
	for range requests {
		w.post(t, question+`}`)
	}
	w.api.Drain(t.Context())
	count, panels := map[int]int{}, map[string]int{}
	for _, r := range w.records(t) {
		if r.IsPanel() {
			count[r.Action]++
			panels[r.Request]++
			if r.Keep != 0.25 {
				t.Fatalf("keep %v", r.Keep)
			}
		}
	}
	for request, n := range panels {
		if n != 2 {
			t.Errorf("%s has %d pairs", request, n)
		}
	}
	if n := len(panels); n < 110 || n > 190 { // 150, standard deviation 8.7
		t.Errorf("%d of %d requests", n, requests)
	}
	for pair := range 4 {
		if n := count[pair]; n < 40 || n > 110 { // 75, standard deviation 7.5
			t.Errorf("pair %d was drawn %d times", pair, n)
		}
	}
}

// TestPanelBudget checks that the calls of a day cost no more than the budget, and that callers notice nothing.
func TestPanelBudget(t *testing.T) {
	p := panelOf(t, 1, panels.All)
	p.Budget.Cost, p.CallCost = 0.1, 0.004 // a panel reserves 0.016 and costs 0.008
	w := newWorld(t, func(s *Settings) { s.Panel = p })
	for range 30 {
		if a := w.post(t, question+`}`); a.status != 200 {
			t.Fatal(a)
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.api.Drain(t.Context())
	s := w.api.Panel()
	if s.Ledger.Spent > 0.1 || s.Ledger.Spent < 0.04 || s.Results["budget"] == 0 || s.Results["answered"]+s.Results["budget"] != 30 {
		t.Errorf("%+v", s)
	}
	if fees := w.value(t, "pipe_panel_fees_total", `expert="small"`) + w.value(t, "pipe_panel_fees_total", `expert="large"`); math.Abs(fees-s.Ledger.Spent) > 1e-12 {
		t.Errorf("the fees are %v, the ledger says %v", fees, s.Ledger.Spent)
	}
}

// TestPanelFallsBehind checks that a panel that cannot follow drops requests, and that neither callers nor a stop wait for it.
func TestPanelFallsBehind(t *testing.T) {
	p := panelOf(t, 1, panels.All)
	p.Workers, p.Queue = 1, 2
	w := newWorld(t, func(s *Settings) {
		s.Panel = p
		for name, e := range s.Experts {
			e.Timeouts.Answer = time.Minute
			s.Experts[name] = e
		}
	})
	w.large.SetFault(func(_ int, _ http.ResponseWriter, r *http.Request) bool { // only the panel calls it
		<-r.Context().Done()
		return true
	})
	began := time.Now()
	for range 10 {
		if a := w.post(t, question+`}`); a.status != 200 {
			t.Fatal(a)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("callers wait for the panel: %v", took)
	}
	if s := w.api.Panel(); s.Results["dropped"] < 5 {
		t.Errorf("%+v", s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began = time.Now()
	w.api.Drain(ctx)
	s := w.api.Panel()
	if took := time.Since(began); took > 10*time.Second || s.Results["abandoned"] < 2 || s.Results["answered"] != 0 {
		t.Errorf("after %v: %+v", took, s)
	}
	if a := w.post(t, question+`}`); a.status != 200 {
		t.Errorf("a request after the panel ended: %v", a)
	}
	if n := w.api.Panel().Results["dropped"] - s.Results["dropped"]; n != 1 {
		t.Errorf("%d requests after the end", n)
	}
	w.api.lock.Lock()
	defer w.api.lock.Unlock()
	if w.api.current.users != 1 {
		t.Errorf("%d users of the experts are left", w.api.current.users)
	}
}

// TestPanelFailures checks what is recorded of pairs that fail, what the budget is charged with, and that the breaker counts.
func TestPanelFailures(t *testing.T) {
	p := panelOf(t, 1, panels.All)
	w := newWorld(t, func(s *Settings) {
		s.Panel = p
		for name, e := range s.Experts {
			e.Timeouts.Answer = time.Minute
			s.Experts[name] = e
		}
	})
	asked := make(chan struct{})
	w.large.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		<-asked // until all decisions were made, which an open breaker would change
		http.Error(rw, "out of order", http.StatusInternalServerError)
		return true
	})
	for range 4 {
		w.post(t, question+`}`)
	}
	close(asked)
	w.api.Drain(t.Context())
	s := w.api.Panel()
	if s.Results["partly"] != 4 {
		t.Errorf("%+v", s)
	}
	open := 0
	for _, r := range w.records(t) {
		switch {
		case !r.IsPanel():
		case r.Action < 2 && (r.Error != "" || r.Executed != r.Action):
			t.Errorf("small: %+v", r)
		case r.Action >= 2 && (r.Error == "" || r.Executed != -1 || r.FeeKnown):
			t.Errorf("large: %+v", r)
		case r.Action >= 2 && strings.Contains(r.Error, "breaker"):
			open++
		}
	}
	if want := 8*0.002 + float64(8-open)*0.003; open == 0 || math.Abs(s.Ledger.Spent-want) > 1e-9 {
		t.Errorf("%d calls were left out, %v spent, want %v", open, s.Ledger.Spent, want)
	}
	if len(answersOf(t, p)) != 8 {
		t.Errorf("%d answers", len(answersOf(t, p)))
	}
}

// TestPanelAnswersAfterKill checks that a line that was half written does not spoil the next one.
func TestPanelAnswersAfterKill(t *testing.T) {
	p := &panel{settings: panelOf(t, 1, panels.All)}
	for _, line := range []string{"{\"a\":1}\n", "{\"b\":", "{\"c\":2}\n"} {
		if err := p.append([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(string(p.settings.Answers))
	if want := "{\"a\":1}\n{\"b\":\n{\"c\":2}\n"; err != nil || string(text) != want {
		t.Errorf("%q: %v", text, err)
	}
}

// TestPanelReload checks what a reload may change.
func TestPanelReload(t *testing.T) {
	var settings Settings
	w := newWorld(t, func(s *Settings) {
		s.Panel = panelOf(t, 1, panels.All)
		settings = *s
	})
	reload := func(change func(*panels.Settings)) error {
		s := settings
		change(&s.Panel)
		return w.api.Reload(s, func([]string) {})
	}
	if err := reload(func(p *panels.Settings) { p.Budget.Cost = 9 }); err == nil || !strings.Contains(err.Error(), "start it again") {
		t.Errorf("%v", err)
	}
	if err := reload(func(p *panels.Settings) { p.Share = 0 }); err != nil {
		t.Error(err)
	}
	w.post(t, question+`}`)
	w.api.Drain(t.Context())
	if s := w.api.Panel(); s.Results["answered"] != 0 || s.Share != 0 || len(w.large.Requests()) != 0 {
		t.Errorf("%+v", s)
	}
}

// TestPanelSettings checks the errors of settings.
func TestPanelSettings(t *testing.T) {
	for text, change := range map[string]func(*panels.Settings){
		"share: is 2":              func(p *panels.Settings) { p.Share = 2 },
		"pairs: is \"some\"":       func(p *panels.Settings) { p.Pairs = "some" },
		"pairs: is \"0\"":          func(p *panels.Settings) { p.Pairs = "0" },
		"budget.cost: 0":           func(p *panels.Settings) { p.Budget.Cost = 0 },
		"budget.per: \"week\"":     func(p *panels.Settings) { p.Budget.Per = "week" },
		"call_cost: is 0":          func(p *panels.Settings) { p.CallCost = 0 },
		"call_cost: is 2":          func(p *panels.Settings) { p.CallCost = 2 },
		"answers: names no file":   func(p *panels.Settings) { p.Answers = "" },
		"workers: is 0":            func(p *panels.Settings) { p.Workers = 0 },
		"queue: is 0, not 1 to 65": func(p *panels.Settings) { p.Queue = 0 },
	} {
		p := panelOf(t, 0.01, "3")
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}
