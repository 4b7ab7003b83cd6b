package builder

import (
	"errors"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/chat/chattest"
	"pipe/internal/storage"
)

// estimateOf estimates the world's build.
func (w *world) estimateOf(t *testing.T, change func(*Options)) (*Estimate, error) {
	t.Helper()
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir)}
	if change != nil {
		change(&o)
	}
	return EstimateCalls(t.Context(), w.cfg, o)
}

// unevenServer answers with numbers of tokens that differ from request to request, always the same for one request.
func unevenServer(t *testing.T) *chattest.Server {
	t.Helper()
	server := chattest.NewServer(t)
	var n atomic.Int64
	server.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		i := int(n.Add(1))
		chattest.WriteAnswer(w, "7", 100+i*37%50, 1+i*13%20)
		return true
	}
	return server
}

// TestEstimateOfABuild: what is estimated from a sample is what the build then asks and pays, and the sample is paid once.
func TestEstimateOfABuild(t *testing.T) {
	server := unevenServer(t)
	w := newQuestions(t, server, 150, map[string]any{"requests_per_second": 1e6, "tokens_per_minute": 1e9})
	first, err := w.estimateOf(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first.Sample != 80 || server.Requests() != 80 || len(first.Pairs) != 4 || first.Total.Calls != 4*130 || first.Total.Kept != 80 {
		t.Errorf("%d requests; %+v", server.Requests(), first)
	}
	if _, err := os.Stat(w.out() + ".work"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the estimate has left a work folder: %v", err)
	}
	again, err := w.estimateOf(t, nil)
	if err != nil || server.Requests() != 80 || again.Sample != 0 || again.Spent != 0 || again.Total.Money != first.Total.Money || again.Total.Calls != first.Total.Calls {
		t.Errorf("again: %d requests, %+v, %v", server.Requests(), again, err)
	}
	for _, p := range first.Pairs {
		if p.Observed != 20 || p.Calls != 130 || !(*p.Low < p.Money && p.Money < *p.High) || !(p.Seconds > 0) {
			t.Errorf("pair %+v", p)
		}
	}
	if p := first.Pairs[1]; p.Part != `expert "small"` || p.Advice != "page" {
		t.Errorf("pair %+v", p)
	}
	r, _ := w.mustRun(t)
	spent, tokens := 0.0, int64(0)
	for _, c := range r.Answers {
		spent, tokens = spent+c.Spent, tokens+c.PromptTokens
	}
	if server.Requests() != 600 {
		t.Errorf("%d requests", server.Requests())
	}
	if e := first.Total; spent < *e.Low || spent > *e.High || *e.High-*e.Low > 0.3*e.Money {
		t.Errorf("spent %v, estimated %v (%v to %v)", spent, e.Money, *e.Low, *e.High)
	}
	if e := first.Total; math.Abs(e.PromptTokens*600/520-float64(tokens)) > 0.1*float64(tokens) {
		t.Errorf("%d tokens, estimated %v", tokens, e.PromptTokens)
	}
	if done, err := w.estimateOf(t, nil); err != nil || !done.Done || len(done.Pairs) != 0 {
		t.Errorf("of a finished build: %+v, %v", done, err)
	}
	w.cfg.TaskLoss = part.Part{Kind: "exact"}
	if regraded, err := w.estimateOf(t, nil); err != nil || len(regraded.Changes) == 0 || regraded.Total.Calls != 0 || regraded.Total.Kept != 600 || regraded.Total.Money != 0 {
		t.Errorf("of another grader: %+v, %v", regraded, err)
	}
}

// TestEstimateOfSamples counts every sample as a request, and asks as many in all as without.
func TestEstimateOfSamples(t *testing.T) {
	server := unevenServer(t)
	w := newQuestions(t, server, 60, map[string]any{"samples": 3, "temperature": 1})
	w.cfg.Experts = w.cfg.Experts[:1]
	e, err := w.estimateOf(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := e.Pairs[0]; e.Sample != 2*18 || p.Calls != 3*54 || p.Kept != 18 || p.Observed != 6 || p.PromptTokens < 100*162 || p.PromptTokens > 150*162 {
		t.Errorf("sample %d, %+v", e.Sample, p)
	}
}

// TestEstimateOfSharedLimits: experts at one service share its strictest limits.
func TestEstimateOfSharedLimits(t *testing.T) {
	server := unevenServer(t)
	w := newQuestions(t, server, 120, nil)
	w.cfg.Experts[1].Settings["requests_per_second"] = 1000
	w.cfg.Experts[0].Settings["tokens_per_minute"] = 1e8
	w.cfg.Advice = w.cfg.Advice[:1]
	if e, err := w.estimateOf(t, nil); err != nil || e.Pairs[0].Seconds < 0.1 || e.Total.Seconds < 0.2 || e.Total.Seconds > 1 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestEstimateWithinTheBudget: the sample stops before the budget is exceeded.
func TestEstimateWithinTheBudget(t *testing.T) {
	server := unevenServer(t)
	w := newQuestions(t, server, 60, map[string]any{"max_tokens": 20})
	money, err := chat.NewBudget(0.003)
	if err != nil {
		t.Fatal(err)
	}
	var over *chat.BudgetError
	if _, err := w.estimateOf(t, func(o *Options) { o.Budget = money }); !errors.As(err, &over) || over.Spent > 0.003 || server.Requests() == 0 {
		t.Errorf("%d requests, %v", server.Requests(), err)
	}
}

// TestEstimateOfQueriesAndVerdicts: reformulators and judges are asked, counted and estimated too.
func TestEstimateOfQueriesAndVerdicts(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = func(user string) string {
		switch {
		case strings.Contains(user, "ANSWER TO GRADE"):
			return "CORRECT"
		case strings.Contains(user, "query"):
			return "sum"
		}
		return "some answer"
	}
	w := newQuestions(t, server, 100, nil)
	w.cfg.Experts = w.cfg.Experts[:1]
	price := map[string]any{"prompt": 1, "completion": 1}
	w.cfg.Advice[1].Settings["reformulator"] = server.Settings(map[string]any{"kind": "endpoint", "model": "r", "price": price})
	w.cfg.TaskLoss = part.Part{Kind: "judge", Settings: map[string]any{"model": server.Settings(map[string]any{"kind": "endpoint", "model": "j", "price": price})}}
	e, err := w.estimateOf(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range e.Pairs {
		names = append(names, p.Part+p.Advice)
		if p.Calls == 0 || p.Money == 0 || p.Observed < 20 {
			t.Errorf("%+v", p)
		}
	}
	if got := strings.Join(names, "; "); got != `expert "small"none; expert "small"page; judge of task_loss; reformulator of advice "page"` {
		t.Errorf("pairs %s", got)
	}
	before := server.Requests()
	if e.Sample != int64(before) || before > 20+40+40 {
		t.Errorf("%d requests, sample %d", before, e.Sample)
	}
	r, tensor := w.mustRun(t)
	if tensor.Loss[0] != 0 || r.Answers[0].Graded != 200 || int64(server.Requests()) > 20+e.Total.Calls+int64(before) {
		t.Errorf("%d requests, %+v", server.Requests(), r.Answers)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "answers", "answers.jsonl")); err != nil {
		t.Error(err)
	}
}

// TestEstimateWithoutServices pays nothing.
func TestEstimateWithoutServices(t *testing.T) {
	if e, err := newWorld(t, 8).estimateOf(t, nil); err != nil || len(e.Pairs) != 0 || e.Total.Calls != 0 {
		t.Errorf("%+v, %v", e, err)
	}
}
