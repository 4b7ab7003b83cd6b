package gateway

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pipe/internal/config"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
)

// A reload takes new keys, prices and advice at once. A request that runs keeps the old ones, and settings that cannot be
// opened change nothing.
func TestReload(t *testing.T) {
	folder := t.TempDir()
	key, text := filepath.Join(folder, "key"), filepath.Join(folder, "rules.txt")
	write := func(file, what string) {
		if err := os.WriteFile(file, []byte(what), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(key, "first-key-0123456789")
	write(text, "the first rules")
	var settings Settings
	w := newWorld(t, func(s *Settings) {
		for name, e := range s.Experts {
			e.KeyFile, e.Timeouts.Answer, e.Timeouts.Idle = config.Path(key), 5*time.Second, 5*time.Second
			s.Experts[name] = e
		}
		a := advice.DefaultSettings()
		a.Kind, a.File = advice.KindFile, config.Path(text)
		s.Advice = map[string]advice.Settings{"search": a}
		settings = *s
	})
	sent := func(n int) string {
		r := w.small.Requests()[n]
		return r.Header.Get("Authorization") + " " + string(r.Body)
	}
	running, release := make(chan struct{}), make(chan struct{})
	w.small.Fault = func(n int, rw http.ResponseWriter, _ *http.Request) bool {
		if n == 0 {
			rw.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(rw, gatewaytest.Chunk("model-s", "half", "null"))
			rw.(http.Flusher).Flush()
			close(running)
			<-release
			io.WriteString(rw, gatewaytest.Chunk("model-s", "", `"stop"`)+"data: "+`{"model":"model-s","choices":[],"usage":`+gatewaytest.Usage+"}\n\ndata: [DONE]\n\n")
			return true
		}
		return false
	}
	got := make(chan answer, 1)
	go func() { got <- w.post(t, question+`,"stream":true}`) }()
	<-running
	old := w.api.acquire()
	w.api.release(old) // the running request has it still

	write(key, "second-key-0123456789")
	write(text, "the second rules")
	in, out := 2.0, 20.0
	changed := settings
	changed.Experts = map[string]expert.Settings{}
	for name, e := range settings.Experts {
		e.Price = &expert.Price{In: &in, Cached: &in, Out: &out}
		changed.Experts[name] = e
	}
	var hidden []string
	if err := w.api.Reload(changed, func(secrets []string) { hidden = secrets }); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(hidden, "first-key-0123456789") || !slices.Contains(hidden, "second-key-0123456789") {
		t.Errorf("hidden: %q", hidden)
	}
	if a := w.post(t, question+`}`); a.status != 200 || !strings.Contains(sent(1), "Bearer second-key-0123456789") || !strings.Contains(sent(1), "the second rules") {
		t.Errorf("after the reload: %d, sent %s", a.status, sent(1))
	}
	w.api.lock.Lock()
	if old.users != 1 {
		t.Errorf("%d use the old settings, want the running request", old.users)
	}
	w.api.lock.Unlock()
	close(release)
	if a := <-got; a.status != 200 || !strings.HasSuffix(a.body, "data: [DONE]\n\n") || !strings.Contains(sent(0), "Bearer first-key-0123456789") || !strings.Contains(sent(0), "the first rules") {
		t.Errorf("the running request: %d %s, sent %s", a.status, a.body, sent(0))
	}

	// What cannot be opened is refused as a whole.
	write(key, "third-key-0123456789")
	broken := changed
	a := changed.Advice["search"]
	a.File = config.Path(filepath.Join(folder, "none.txt"))
	broken.Advice = map[string]advice.Settings{"search": a}
	for _, s := range []Settings{broken, {}, func() Settings { s := changed; s.Experts = nil; return s }()} {
		if err := w.api.Reload(s, func([]string) { t.Error("it was used") }); err == nil {
			t.Error("no error")
		} else if s.Advice != nil && s.Experts != nil && strings.Count(err.Error(), "open") != 1 {
			t.Error(err)
		}
	}
	if a := w.post(t, question+`}`); a.status != 200 || !strings.Contains(sent(2), "Bearer second-key-0123456789") || !strings.Contains(sent(2), "the second rules") {
		t.Errorf("after a refused reload: %d, sent %s", a.status, sent(2))
	}
	recs := w.records(t)
	var fees []float64
	for _, r := range recs {
		fees = append(fees, r.Fee)
	}
	slices.Sort(fees)
	if !slices.Equal(fees, []float64{0.002, 0.004, 0.004}) {
		t.Errorf("fees %v", fees)
	}
}

// A breaker stays open over a reload that changes prices alone, and is closed for an expert with another address.
func TestBreakersOverReloads(t *testing.T) {
	var settings Settings
	w := newWorld(t, func(s *Settings) { s.Breaker.Failures = 1; settings = *s })
	w.small.Fault = fault(500)
	w.post(t, question+`}`)
	state := func() expert.State { return w.api.Breakers()[1].State }
	if state() != expert.Open {
		t.Fatal("the breaker is not open")
	}
	reload := func(change func(e *expert.Settings)) {
		next := settings
		next.Experts = map[string]expert.Settings{}
		for name, e := range settings.Experts {
			if name == "small" {
				change(&e)
			}
			next.Experts[name] = e
		}
		if err := w.api.Reload(next, func([]string) {}); err != nil {
			t.Fatal(err)
		}
	}
	reload(func(e *expert.Settings) { e.Price = nil })
	if state() != expert.Open {
		t.Error("a price closed the breaker")
	}
	reload(func(e *expert.Settings) { e.Concurrency = 7 })
	if b := w.api.Breakers()[1]; b.State != expert.Closed || !b.Since.IsZero() {
		t.Errorf("%+v", b)
	}
	want := "# HELP pipe_breaker_state Circuit breaker of an expert: 0 closed, 1 half open, 2 open.\n# TYPE pipe_breaker_state gauge\npipe_breaker_state{expert=\"large\"} 0\npipe_breaker_state{expert=\"small\"} 0\n"
	if err := testutil.GatherAndCompare(w.registry, strings.NewReader(want), "pipe_breaker_state"); err != nil {
		t.Error(err)
	}
}

// A policy whose experts are not configured is not listed, and a request for it is refused for good.
func TestUnusablePolicies(t *testing.T) {
	w := newWorld(t, func(s *Settings) {
		s.Experts["other"] = s.Experts["small"]
		delete(s.Experts, "small")
		delete(s.Experts, "large")
	})
	response, err := w.Client().Get(w.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	response.Body.Close()
	if strings.Contains(string(text), "pipe") || !strings.Contains(string(text), `"id":"other"`) {
		t.Errorf("listed: %s", text)
	}
	if a := w.post(t, question+`}`); a.message() != `400 invalid_request_error unusable_policy: no expert of policy "claims" is configured, so it cannot answer: add them under gateway.experts` || a.header.Get("Retry-After") != "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
}
