package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipe/serve/budget"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/patience"
	"pipe/serve/ledger"
)

// forgetful is a service that keeps nothing of what it is asked. It answers in chat completions.
func forgetful(t testing.TB) *httptest.Server {
	script := gatewaytest.Script{Model: "m", Text: "It is a test."}
	whole, stream := script.Whole("chat"), strings.Join(script.Stream("chat", true), "")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Stream bool }
		if json.NewDecoder(r.Body).Decode(&q) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if !q.Stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, whole)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestMemoryIsFlat sends requests of conversations in two protocols, whole and streamed, with sessions, budgets, patience and telemetry. From
// a fifth of them on the memory grows only by what the log remembers of its last 131,072 decisions, and at the end no goroutine is left.
//
//	PIPE_SOAK=100000 go test ./serve/gateway -run TestMemoryIsFlat -v -timeout 1h
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory")
	}
	total := 5000
	if text := os.Getenv("PIPE_SOAK"); text != "" {
		var err error
		if total, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	service := forgetful(t)
	w, c, done := tracedWorld(t, func(s *Settings) {
		s.Sessions.On, s.Sessions.Memory = true, 1<<20
		times := patience.DefaultSettings()
		s.Advice, s.Patience = nil, &times
		for name, e := range s.Experts {
			e.BaseURL, e.Timeouts = service.URL+"/v1", expert.DefaultSettings().Timeouts
			s.Experts[name] = e
		}
		budgeted(budget.Budget{Name: "all", Money: 1e6, Per: ledger.Month, Of: budget.Total}, budget.Budget{Name: "keys", Tokens: 1e12, Per: ledger.Day, Of: budget.Key})(s)
	})
	c.Fault = func(rw http.ResponseWriter, r *http.Request) bool { // it keeps all that it gets
		_, _ = io.Copy(io.Discard, r.Body)
		return true
	}
	first := w.post(t, question+`}`)
	if first.status != http.StatusOK {
		t.Fatalf("%d %s", first.status, first.body)
	}
	goroutines, heap := runtime.NumGoroutine(), make([]float64, 0, 5)
	for range 5 {
		w.soak(t, len(heap)*total/5, (len(heap)+1)*total/5)
		heap = append(heap, usedMemory())
	}
	state := w.api.Sessions()
	t.Logf("%d requests, MB after each fifth: %.2f; %d conversations, %d kept; budget %+v", total, heap, state.Sessions, state.Open, w.api.Budgets()[0].Spent)
	const remembered = 200. / (1 << 20) // MB for a decision: its id in three maps, some of which are twice as large as they need
	if grown := heap[4] - heap[0]; grown > 2+remembered*float64(min(total, 1<<17)) {
		t.Errorf("the memory grew by %.2f MB", grown)
	}
	if text := w.text.String(); len(text) > 10_000 {
		t.Errorf("%d bytes of log: %.1000s", len(text), text)
	}
	if state.Sessions < int64(total/5) || !(w.api.Budgets()[0].Spent > 0) {
		t.Errorf("%+v, %+v", state, w.api.Budgets())
	}
	w.CloseClientConnections()
	service.CloseClientConnections()
	for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	done()
}

// soak sends requests from one to another: conversations of five turns, from four callers.
func (w *world) soak(t *testing.T, from, to int) {
	var next atomic.Int64
	next.Store(int64(from))
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for n := int(next.Add(1)) - 1; n < to; n = int(next.Add(1)) - 1 {
				messages := fmt.Sprintf(`{"role":"user","content":"Is oil %d good? %s"}`, n/5, strings.Repeat("rules ", 200)) + strings.Repeat(`,{"role":"assistant","content":"It is a test."},{"role":"user","content":"And why?"}`, n%5)
				path := "/v1/chat/completions"
				if n/5%2 == 1 {
					path = "/v1/messages"
				}
				a := w.postTo(t, path, fmt.Sprintf(`{"model":"pipe","max_tokens":200,"stream":%v,"messages":[%s]}`, n%3 == 0, messages), "Content-Type", "application/json", "Anthropic-Version", "2023-06-01")
				if a.status != http.StatusOK {
					t.Errorf("%d %s", a.status, a.body)
					return
				}
			}
		})
	}
	callers.Wait()
}

// usedMemory is the memory in use, in MB.
func usedMemory() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools keep what they have for one more
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}
