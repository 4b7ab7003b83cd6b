package gateway

import (
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/patience"
)

// short are settings of patience with times of tests.
func short() *patience.Settings {
	s := patience.DefaultSettings()
	s.Floor, s.Start, s.Most, s.Silence, s.Answers = 300*time.Millisecond, 3*time.Second, 4*time.Second, 200*time.Millisecond, 20
	return &s
}

// patient is a world whose experts are cut by what is learned.
func patient(t *testing.T, change func(*Settings)) *world {
	return newWorld(t, func(s *Settings) {
		s.Patience = short()
		for name, e := range s.Experts {
			e.Timeouts = expert.DefaultSettings().Timeouts
			s.Experts[name] = e
		}
		if change != nil {
			change(s)
		}
	})
}

// learn lets the expert small answer until its times are known.
func (w *world) learn(t *testing.T, n int) {
	t.Helper()
	for range n {
		if a := w.post(t, question+`,"stream":true}`); a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" {
			t.Fatalf("%d by %s: %s", a.status, a.header.Get("X-Pipe-Expert"), a.body)
		}
	}
}

// silent accepts requests and never answers.
func silent(_ int, _ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// thinks sends comments for a while and then answers.
func thinks(comments int) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "text/event-stream")
		for range comments {
			io.WriteString(rw, ": thinking\n\n")
			rw.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
		io.WriteString(rw, gatewaytest.Chunk("model-s", "late", `"stop"`)+"data: [DONE]\n\n")
		return true
	}
}

// A silent call is cut after what was learned, in place of a flat time. Signs of life begin the time again.
func TestLearnedAllowance(t *testing.T) {
	w := patient(t, nil)
	w.learn(t, 20)
	w.small.SetFault(silent)
	began := time.Now()
	a := w.post(t, question+`,"stream":true}`)
	if took := time.Since(began); a.header.Get("X-Pipe-Expert") != "large" || took < 300*time.Millisecond || took > 2*time.Second {
		t.Errorf("after %v by %s", took, a.header.Get("X-Pipe-Expert"))
	}
	w.small.SetFault(thinks(8))
	if a := w.post(t, question+`,"stream":true}`); a.header.Get("X-Pipe-Expert") != "small" || !strings.Contains(a.body, "late") {
		t.Errorf("by %s: %s", a.header.Get("X-Pipe-Expert"), a.body)
	}
	states := w.api.Patience()
	if len(states) != 2 || states[1].Expert != "small" || !states[1].Known || states[1].Allowance < 0.3 || states[1].Allowance > 1.2 || states[1].Answers != 21 || states[1].Slow+states[1].Silent != 1 {
		t.Errorf("%+v", states)
	}
	recs := w.records(t)
	if got := recs[20].Attempts; len(got) != 2 || got[0].Action != 1 || got[1].Action != 3 {
		t.Errorf("%+v", got)
	}
}

// Before enough is known, the allowance is that of the start. A call that nobody else could answer is not cut.
func TestAllowanceAtFirst(t *testing.T) {
	w := patient(t, func(s *Settings) { s.Patience.Start, s.Patience.Floor = 500*time.Millisecond, 100*time.Millisecond })
	w.learn(t, 19)
	w.small.SetFault(silent)
	began := time.Now()
	a := w.post(t, question+`,"stream":true}`)
	if took := time.Since(began); a.header.Get("X-Pipe-Expert") != "large" || took < 500*time.Millisecond || took > 2*time.Second {
		t.Errorf("after %v by %s", took, a.header.Get("X-Pipe-Expert"))
	}
	w.small.SetFault(func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		time.Sleep(time.Second)
		return false
	})
	if a := w.post(t, strings.Replace(question, "pipe", "small", 1)+`,"stream":true}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A service that accepts requests and answers none is left by all calls together, long before each would be cut by itself.
func TestDeadExpertIsLeft(t *testing.T) {
	w := patient(t, func(s *Settings) { s.Patience.Floor = 3 * time.Second })
	w.learn(t, 40)
	w.small.SetFault(silent)
	began := time.Now()
	var calls sync.WaitGroup
	for range 6 {
		calls.Go(func() {
			if a := w.post(t, question+`,"stream":true}`); a.header.Get("X-Pipe-Expert") != "large" {
				t.Errorf("%d by %s", a.status, a.header.Get("X-Pipe-Expert"))
			}
		})
	}
	calls.Wait()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	if b := w.api.Breakers()[1]; b.State != expert.Open {
		t.Errorf("%+v", b)
	}
	if s := w.api.Patience(); s[len(s)-1].Silent != 6 {
		t.Errorf("%+v", s)
	}
}

// What was learned survives a reload, and a restart by its file. A reload that names another file is refused.
func TestWhatWasLearnedStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.json")
	var settings Settings
	w := patient(t, func(s *Settings) { s.Patience.File = config.Path(file); settings = *s })
	w.learn(t, 25)
	changed := settings
	changed.Patience = short()
	changed.Patience.File, changed.Patience.Floor = config.Path(file), 700*time.Millisecond
	if err := w.api.Reload(changed, func([]string) {}); err != nil {
		t.Fatal(err)
	}
	if s := w.api.Patience(); len(s) != 1 || s[0].Answers != 25 || s[0].Allowance != 0.7 {
		t.Errorf("%+v", s)
	}
	other := changed
	other.Patience = short()
	other.Patience.File = config.Path(file + "2")
	if err := w.api.Reload(other, func([]string) {}); err == nil || !strings.Contains(err.Error(), "file changes only") {
		t.Error(err)
	}
	if err := w.api.current.learner.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := patience.New(changed.Patience, nil, w.api.log)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.Expert("small", w.api.current.experts["small"].URL()+" model-s")
	if s := l.States(); len(s) != 1 || s[0].Answers != 25 {
		t.Errorf("%+v", s)
	}
	w.api.current.learner = nil // it is closed
}

// Without the settings, nothing is learned, and the header of a deadline means nothing.
func TestWithoutPatience(t *testing.T) {
	w := newWorld(t, nil)
	a := w.post(t, question+`}`, "X-Pipe-Deadline", "nonsense")
	if a.status != 200 || a.body != gatewaytest.Completion("model-s", w.small.Text) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if s := w.api.Patience(); s != nil {
		t.Errorf("%+v", s)
	}
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if slices.Contains([]string{"pipe_patience_seconds", "pipe_cuts_total", "pipe_hedges_total"}, f.GetName()) {
			t.Error(f.GetName())
		}
	}
}

// lateWorld is a world in which lateness costs something. The policy "any" prefers small, which is slow.
func lateWorld(t *testing.T, info map[string]string, of patience.Lateness) *world {
	return newWorldOf(t, nil, func(s *Settings) {
		s.Latency = &patience.Latency{Policies: map[string]patience.Lateness{"any": of}}
	}, func(folder string, _ *decision.Settings) {
		writeAnyPrice(t, folder, "any", func(p *policy.Policy) { p.Info = info })
	})
}

// Lateness is a fee as soon as 20 answers are known. A caller's deadline goes before that of the settings.
func TestLateness(t *testing.T) {
	price := 20.0
	w := lateWorld(t, map[string]string{"money": `{"currency":"USD","per_loss":4}`}, patience.Lateness{Deadline: 20 * time.Millisecond, Price: &price})
	w.small.Delay = 80 * time.Millisecond
	ask := strings.Replace(question, "pipe", "pipe/any", 1) + `}`
	for i := range 20 {
		if a := w.post(t, ask); a.header.Get("X-Pipe-Expert") != "small" {
			t.Fatalf("%d: %d by %s", i, a.status, a.header.Get("X-Pipe-Expert"))
		}
	}
	for deadline, want := range map[string]string{"": "large", "10s": "small", "0.01": "large", " 15ms ": "large", "1h": "small"} {
		if a := w.post(t, ask, "X-Pipe-Deadline", deadline); a.header.Get("X-Pipe-Expert") != want {
			t.Errorf("%q: %d by %s", deadline, a.status, a.header.Get("X-Pipe-Expert"))
		}
	}
	for _, deadline := range []string{"soon", "-1", "0", "NaN", "1e300", "25h", "Inf"} {
		if a := w.post(t, ask, "X-Pipe-Deadline", deadline); a.status != 400 || !strings.Contains(a.body, `"param":"X-Pipe-Deadline"`) {
			t.Errorf("%q: %d %s", deadline, a.status, a.body)
		}
	}
	recs := w.records(t)
	if fees := recs[0].PairFees; len(fees) != 0 {
		t.Errorf("before anything is known: %v", fees)
	}
	of := slices.IndexFunc(recs, func(r *decisionlog.Record) bool { return len(r.PairFees) > 0 })
	// At least 60 ms late, at 20 a second and 4 for a loss of 1.
	if f := recs[of].PairFees; of < 20 || len(f) != 4 || f[0] < 0.28 || f[0] > 1 || f[0] != f[1] || f[2] != 0 || f[3] != 0 {
		t.Errorf("%d: %v", of, f)
	}
}

// Policies whose pairs can have no such fee are refused at the start and at a reload.
func TestLatenessIsRefused(t *testing.T) {
	price := 1.0
	of := &patience.Latency{Policies: map[string]patience.Lateness{"claims": {Deadline: time.Second, Loss: &price}}}
	w := newWorld(t, nil)
	s := w.settings()
	s.Latency = of
	want := `gateway: latency: policy "claims" has fixed prices`
	if _, err := New(w.decider, nil, nil, s); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	if err := w.api.Reload(s, func([]string) {}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
	v := lateWorld(t, nil, patience.Lateness{Deadline: time.Second, Loss: &price})
	s.Latency = &patience.Latency{Policies: map[string]patience.Lateness{"any": {Deadline: time.Second, Price: &price}}}
	if err := v.api.Reload(s, func([]string) {}); err == nil || !strings.Contains(err.Error(), "set loss in place of price") {
		t.Error(err)
	}
}

// Every problem of the settings names its place.
func TestSettingsOfPatience(t *testing.T) {
	for text, want := range map[string]string{
		`patience: {quantile: 1}`:                    "patience.quantile: is 1, not 0.5 to 0.9999",
		`patience: {margin: .nan}`:                   "patience.margin",
		`patience: {margin: 0.5}`:                    "patience.margin: is 0.5, not 1 to 100",
		`patience: {floor: 0s}`:                      "patience.floor: is 0s",
		`patience: {start: 30m}`:                     "patience.start: is 30m0s, above most, 10m0s",
		`patience: {floor: 11m}`:                     "patience.floor: is 11m0s, above most",
		`patience: {silence: -1s}`:                   "patience.silence: is -1s",
		`patience: {answers: 0}`:                     "patience.answers: is 0",
		`patience: {half_life: 1}`:                   "patience.half_life: is 1",
		`patience: {first: 1s}`:                      "first",
		`latency: {}`:                                "latency.deadline: not set",
		`latency: {deadline: 5s}`:                    "latency.price, loss: set one of them",
		`latency: {deadline: 5s, price: 1, loss: 1}`: "latency.price, loss: set one of them",
		`latency: {deadline: 5s, price: -1}`:         "latency.price: must be above 0",
		`latency: {deadline: 0s, loss: .inf}`:        "latency.loss: must be above 0",
		`latency: {policies: {a: {deadline: 1s}}}`:   "latency.policies.a.price, loss: set one of them",
		`latency: {policies: {a: {price: 1}}}`:       "latency.policies.a.deadline: is 0s",
		`hedge: {after: 95}`:                         "p50, p75",
		`hedge: {after: p100}`:                       "p50, p75",
		`hedge: {share: 0.9}`:                        "hedge.share: is 0.9",
		`hedge: {share: 0}`:                          "hedge.share: is 0",
		`patience: {}` + "\nlatency: {deadline: 1s, loss: 2}\nhedge: {after: p99}": "",
	} {
		s := DefaultSettings()
		problems := config.Decode([]byte(text), storage.Location{}, func(string) (string, bool) { return "", false }, &s)
		if len(problems) == 0 {
			problems = config.Lines(s.Validate())
		}
		if got := strings.Join(problems, "\n"); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
		if want == "" && (*s.Patience != patience.DefaultSettings() || s.Latency.Deadline != time.Second || *s.Latency.Loss != 2 || *s.Hedge != patience.Hedge{After: 0.99, Share: 0.02}) {
			t.Errorf("%+v", s)
		}
	}
}

// Timeouts that patience replaces are named.
func TestNotesOfPatience(t *testing.T) {
	w := newWorld(t, func(s *Settings) { s.Patience = short() })
	if n := w.api.Notes(); !slices.ContainsFunc(n, func(n string) bool { return strings.Contains(n, `answer of the expert "small" have no effect`) }) {
		t.Errorf("%q", n)
	}
}
