package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipe/costs"
	"pipe/models/cascade"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/ledger"
)

// The pairs of planted cascades. Those with advice cost so much that they are asked only where nothing else is left.
const (
	smallNone = 0
	largeNone = 2
)

// stateOf is the policy of a state: the losses of the four pairs are base, plus step where the label of pair of is known.
func stateOf(a *costs.Actions, executed []int, base, step [4]float32, of int) cascade.State {
	e := cascade.Encoding{Dim: hftest.Hidden}
	if len(executed) > 0 {
		e.Known = []int{of * 2}
	}
	width := e.Width()
	l := network.Affine{Out: 4, In: width, W: make([]float32, 4*width), B: base[:]}
	constant := make([]float64, 4)
	for i := range 4 {
		constant[i] = float64(base[i])
		if len(executed) > 0 {
			l.W[i*width+width-1] = step[i]
		}
	}
	return cascade.State{Executed: executed, Encoding: e, Policy: &policy.Policy{
		Actions: cascade.PairActions(a, 1, executed, nil, width), Method: "auto", Recipe: "auto", Lambda: 1,
		Decoder: policy.DecoderEstimate, Dim: width, Standard: network.Standardizer{Mean: make([]float32, width), Scale: ones(width)},
		Estimate: &policy.Estimate{Blend: estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{Affine: l}}}}, Constant: constant},
	}}
}

// writeCascade writes a cascade, any, with its encoder: small/none is asked first. Its answer is accepted if it names a label, else
// large/none is asked. If both were read, the answer of large/none is accepted if it names a label, else that of small/none.
func writeCascade(t testing.TB, folder string) { writeCascadeOf(t, folder, nil) }

// writeCascadeOf is writeCascade for a cascade after a change.
func writeCascadeOf(t testing.TB, folder string, change func(*cascade.Policy)) {
	t.Helper()
	a := &costs.Actions{
		Experts: []costs.Expert{{Name: "small", Fee: 0.01}, {Name: "large", Fee: 0.05}}, Advice: []costs.Advice{{Name: "none"}, {Name: "search"}},
		Features: costs.FeatureSource{Name: "text small", Dim: hftest.Hidden},
	}
	p := &cascade.Policy{
		Actions: a, Dim: hftest.Hidden, Stages: 2, Lambda: 1, Facts: []costs.Fact{{Name: "label", Values: []string{"no", "yes"}}, {Name: "logprob"}},
		States: []cascade.State{
			stateOf(a, nil, [4]float32{0.1, 5, 0.2, 5}, [4]float32{}, 0),
			stateOf(a, []int{smallNone}, [4]float32{0.9, 5, 0.2, 5}, [4]float32{-0.85, 0, 0, 0}, smallNone),
			stateOf(a, []int{smallNone, largeNone}, [4]float32{0.5, 5, 0.9, 5}, [4]float32{0, 0, -0.85, 0}, largeNone),
		},
	}
	p.Rest = stateOf(a, nil, [4]float32{0.4, 5, 0.2, 5}, [4]float32{}, 0).Policy
	if change != nil {
		change(p)
	}
	m, err := p.Export()
	if err == nil {
		err = m.WriteFile(filepath.Join(folder, "any.onnx"))
	}
	encoder := encoderOf(folder, "any")
	if err := errors.Join(err, os.Mkdir(encoder, 0o777), hftest.WriteBERT(encoder)); err != nil {
		t.Fatal(err)
	}
}

// newCascade is a world with the policy of writeCascade.
func newCascade(t testing.TB, change func(*Settings), more ...func(*decision.Settings)) *world {
	t.Helper()
	return newWorldOf(t, nil, change, func(folder string, s *decision.Settings) {
		writeCascade(t, folder)
		for _, m := range more {
			m(s)
		}
	})
}

// What the experts say where the cascade knows the label, and where it does not.
const (
	sure   = "The answer is yes."
	unsure = "It depends, who knows."
)

const staging = `{"model":"pipe/any","messages":[{"role":"user","content":"Is oil good?"}]`

// A good cheap answer is accepted, and a bad one escalated: in every protocol of callers, whole and streamed. The expert is asked for a
// whole answer but in the last stage of a stream. The bill is the sum of the stages.
func TestCascades(t *testing.T) {
	for _, caller := range protocolNames {
		for _, stream := range []bool{false, true} {
			for name, c := range map[string]struct {
				small, large string
				executed     int
				stages, end  string
			}{
				"accepted":            {sure, sure, smallNone, "small/none", "accepted"},
				"escalated":           {unsure, sure, largeNone, "small/none,large/none", "accepted"},
				"the first is better": {unsure, unsure, smallNone, "small/none,large/none", "accepted"},
			} {
				t.Run(fmt.Sprintf("%s, %s, stream %v", caller, name, stream), func(t *testing.T) {
					w := newCascade(t, nil)
					w.small.Text, w.large.Text = c.small, c.large
					asked := strings.Count(c.stages, ",") + 1
					live := stream && asked == 2
					if live { // the last answer is passed on as it comes, and not compared
						c.executed, c.end = largeNone, "live"
					}
					a := w.askIn(t, caller, plainRequest(caller, "pipe/any", stream))
					text, model := c.small, "model-s"
					if c.executed == largeNone {
						text, model = c.large, "model-l"
					}
					got := read(t, caller, a, stream)
					if a.status != 200 || got.text != text || got.model != model || got.finish != "stop" || got.in != 1000 || got.cached != 400 || got.out != 100 {
						t.Fatalf("%d %+v\n%s", a.status, got, a.body)
					}
					if kind := a.header.Get("Content-Type"); strings.HasPrefix(kind, "text/event-stream") != stream || a.header.Get(headerStages) != c.stages || a.header.Get(headerFallbacks) != "" || a.header.Get(headerCost) == "" {
						t.Errorf("%v", a.header)
					}
					for i, s := range []*gatewaytest.Server{w.small, w.large} {
						if sent := s.Requests(); len(sent) != boolTo(i < asked) || len(sent) > 0 && strings.Contains(string(sent[0].Body), `"stream":true`) != (live && i == 1) {
							t.Errorf("service %d got %d requests", i, len(sent))
						}
					}
					checkStages(t, w, asked, c.executed, live, c.end)
				})
			}
		}
	}
}

// checkStages checks the record, the metrics and the bill of the only request.
func checkStages(t *testing.T, w *world, asked, executed int, live bool, end string) {
	t.Helper()
	billed := counted(t, w, "pipe_fees_total", "small") + counted(t, w, "pipe_fees_total", "large")
	rec := w.records(t)[0]
	if rec.Action != smallNone || rec.Executed != executed || len(rec.Cascade) != asked || len(rec.Attempts) != asked || rec.Error != "" || rec.Fee != 0.002 || !rec.FeeKnown || rec.FellBack() {
		t.Fatalf("%+v", rec)
	}
	if math.Abs(billed-rec.Paid()) > 1e-12 || math.Abs(billed-0.002*float64(asked)) > 1e-12 {
		t.Errorf("%v is billed, the stages are %v", billed, rec.Paid())
	}
	if rec.PathPropensity() != 1 {
		t.Errorf("propensity %v", rec.PathPropensity())
	}
	for i, s := range rec.Cascade {
		if s.Action != []int{smallNone, largeNone}[i] || s.Propensity != 1 || s.Fee != 0.002 || s.In != 1000 || s.Cached != 400 || s.Out != 100 || s.Micros == 0 || (s.Facts == "") != (live && i == 1) || s.Facts != "" && (s.Facts == `{"label":null,"logprob":null}`) == (s.Facts == `{"label":"yes","logprob":null}`) {
			t.Errorf("%+v", s)
		}
	}
	if n := counted(t, w, "pipe_cascade_requests_total", "any", end); n != 1 {
		t.Errorf("%s is counted %v times", end, n)
	}
}

// A deadline within a stage returns the answer at hand: that of the server, and that of the caller.
func TestCascadeInTime(t *testing.T) {
	hang := func(_ int, _ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	for name, c := range map[string]struct {
		change func(*Settings)
		header []string
	}{
		"of the server": {func(s *Settings) { s.Fallback.Deadline = 300 * time.Millisecond }, nil},
		"of the caller": {nil, []string{headerDeadline, "300ms"}},
		"patience":      {func(s *Settings) { slow(s, 200*time.Millisecond) }, nil},
	} {
		for _, end := range []string{`}`, `,"stream":true}`} {
			t.Run(name+end, func(t *testing.T) {
				w := newCascade(t, func(s *Settings) {
					slow(s, 10*time.Second)
					if c.change != nil {
						c.change(s)
					}
				})
				w.small.Text, w.large.Fault = unsure, hang
				began := time.Now()
				a := w.post(t, staging+end, c.header...)
				if took := time.Since(began); a.status != 200 || !strings.Contains(a.body, unsure) || took > 3*time.Second || a.header.Get(headerStages) != "small/none" || a.header.Get(headerFallbacks) != "1" {
					t.Errorf("%v: %d %v %s", took, a.status, a.header, a.body)
				}
				rec := w.records(t)[0]
				if rec.Executed != smallNone || len(rec.Cascade) != 1 || len(rec.Attempts) != 2 || rec.Attempts[1].Error == "" || rec.Error != "" || rec.PathPropensity() != 1 {
					t.Errorf("%+v", rec)
				}
			})
		}
	}
	w := newCascade(t, nil)
	if a := w.post(t, staging+`}`, headerDeadline, "soon"); a.status != 400 || !strings.Contains(a.body, headerDeadline) || len(w.small.Requests()) != 0 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A stage that takes longer than the caller waits is the last one: no other pair is asked, or charged for.
func TestCascadeTooLate(t *testing.T) {
	for _, end := range []string{`}`, `,"stream":true}`} {
		w := newCascade(t, nil)
		w.small.Text = unsure
		w.small.Fault = func(int, http.ResponseWriter, *http.Request) bool { time.Sleep(150 * time.Millisecond); return false }
		if a := w.post(t, staging+end, headerDeadline, "100ms"); a.status != 200 || !strings.Contains(a.body, unsure) || a.header.Get(headerFallbacks) != "" {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		if rec := w.records(t)[0]; len(w.large.Requests()) != 0 || len(rec.Attempts) != 1 || rec.PathPropensity() != 1 {
			t.Errorf("%d requests, %+v", len(w.large.Requests()), rec)
		}
	}
}

// slow lets experts take a time.
func slow(s *Settings, d time.Duration) {
	for name, e := range s.Experts {
		e.Timeouts = expert.Timeouts{FirstByte: d, Answer: d, Idle: d, Whole: 10 * time.Second}
		s.Experts[name] = e
	}
}

// A stage that fails is left out: the answer at hand is returned, or another pair is asked.
func TestCascadeStagesFail(t *testing.T) {
	refuse := func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		rw.WriteHeader(http.StatusBadRequest)
		io.WriteString(rw, `{"error":{"message":"temperature must be below 2"}}`)
		return true
	}
	for name, c := range map[string]struct {
		small, large func(int, http.ResponseWriter, *http.Request) bool
		status       int
		stages, end  string
	}{
		"the last fails":       {nil, fault(500), 200, "small/none", "in_hand"},
		"the last is refused":  {nil, refuse, 200, "small/none", "in_hand"},
		"the first fails":      {fault(500), nil, 200, "large/none", "accepted"},
		"both fail":            {fault(500), fault(503), 502, "", "none"},
		"the first is refused": {refuse, nil, 400, "", "none"},
	} {
		for _, stream := range []string{`}`, `,"stream":true}`} {
			t.Run(name+stream, func(t *testing.T) {
				w := newCascade(t, nil)
				w.small.Text, w.small.Fault, w.large.Fault = unsure, c.small, c.large
				a := w.post(t, staging+stream)
				end := c.end
				if name == "the first fails" && stream != `}` {
					end = "live" // nothing is decided after large/none alone
				}
				if a.status != c.status || a.header.Get(headerStages) != c.stages {
					t.Errorf("%d %v %s", a.status, a.header, a.body)
				}
				if n := counted(t, w, "pipe_cascade_requests_total", "any", end); n != 1 {
					t.Errorf("%s is counted %v times", end, n)
				}
				rec := w.records(t)[0]
				if c.status == 200 && (rec.Executed < 0 || len(rec.Cascade) != 1 || rec.Paid() != 0.002) || c.status != 200 && rec.IsCascade() {
					t.Errorf("%+v", rec)
				}
				for _, tried := range rec.Attempts {
					if strings.HasSuffix(tried.Error, ", ") {
						t.Errorf("%q gives no reason", tried.Error)
					}
				}
				if p := rec.PathPropensity(); c.status == 200 && (p == 1) == (name == "the first fails") {
					t.Errorf("propensity %v", p)
				}
			})
		}
	}
}

// An answer that cannot be made a stream is paid, and its pair counts as failed: the caller gets another one, and the log says why.
func TestCascadeAnswerThatIsNoStream(t *testing.T) {
	w := newCascade(t, nil)
	w.large.Text = sure
	w.small.Fault = func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "application/json")
		io.WriteString(rw, strings.Replace(gatewaytest.Completion("model-s", sure), `"role":`, `"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}],"role":`, 1))
		return true
	}
	if a := w.post(t, staging+`,"stream":true}`); a.status != 200 || a.header.Get(headerStages) != "large/none" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	paid := counted(t, w, "pipe_fees_total", "small")
	rec := w.records(t)[0]
	if why := rec.Attempts[0].Error; paid != 0.002 || !strings.Contains(why, "charged") || !strings.Contains(why, "reasoning_details") || len(rec.Cascade) != 1 || rec.Executed != largeNone || rec.PathPropensity() == 1 {
		t.Errorf("%v paid, %q, %+v", paid, why, rec)
	}
}

// A request that needs one conversation is answered by the pair of the first decision alone, as its record says.
func TestCascadeOneShot(t *testing.T) {
	for name, more := range map[string]string{"tools": withTools, "several answers": `,"n":2`, "probabilities in a stream": `,"stream":true,"logprobs":true`} {
		t.Run(name, func(t *testing.T) {
			w := newCascade(t, nil)
			w.small.Text = unsure
			a := w.post(t, staging+more+`}`)
			if a.status != 200 || a.header.Get(headerExpert) != "small" || a.header.Get(headerStages) != "" || len(w.large.Requests()) != 0 {
				t.Errorf("%d %v %s", a.status, a.header, a.body)
			}
			if rec := w.records(t)[0]; rec.IsCascade() || rec.Executed != smallNone || rec.Propensity[smallNone] != 1 {
				t.Errorf("%+v", rec)
			}
			if n := counted(t, w, "pipe_cascade_requests_total", "any", "one_shot"); n != 1 {
				t.Errorf("counted %v times", n)
			}
		})
	}
}

// Masks and budgets hold in every stage: an expert that must not be asked is not, and the answer at hand is returned.
func TestCascadeMasks(t *testing.T) {
	w := newCascade(t, budgeted(budget.Budget{Name: "large", Tokens: 1, Per: ledger.Day, Of: budget.Expert, Only: []string{"large"}}))
	w.small.Text = unsure
	if a := w.post(t, staging+`,"max_tokens":100}`); a.status != 200 || !strings.Contains(a.body, unsure) || len(w.large.Requests()) != 0 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.post(t, staging+`,"max_tokens":100}`, "X-Pipe-Without", "expert=small"); a.status != 429 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, s := range w.api.Budgets() {
		if s.Held != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// A budget refuses a request for the first pair alone: where another pair was tried before, the next one is.
func TestCascadeBudgetAfterAFailure(t *testing.T) {
	w := newCascade(t, budgeted(budget.Budget{Name: "large", Tokens: 1, Per: ledger.Day, Of: budget.Expert, Only: []string{"large"}, AtEnd: budget.Refuse}))
	w.small.Fault = fault(500)
	a := w.post(t, staging+`,"max_tokens":100}`)
	if rec := w.records(t)[0]; a.status != 502 || len(rec.Attempts) != 3 {
		t.Errorf("%d %s: %+v", a.status, a.body, rec.Attempts)
	}
}

// A caller who leaves within a stage ends it, and the stages before are in the record.
func TestCascadeCallerLeaves(t *testing.T) {
	w := newCascade(t, func(s *Settings) { slow(s, 10*time.Second) })
	ctx, leave := context.WithCancel(t.Context())
	w.small.Text = unsure
	w.large.Fault = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		leave()
		<-r.Context().Done()
		return true
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/v1/chat/completions", strings.NewReader(staging+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if response, err := w.Client().Do(r); err == nil {
		response.Body.Close()
		t.Error("the answer came")
	}
	for deadline := time.Now().Add(5 * time.Second); w.large.Gone() == 0 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	w.Server.Close()
	rec := w.records(t)[0]
	if rec.Executed != -1 || rec.Error != "the client left" || len(rec.Cascade) != 1 || rec.FeeKnown || rec.Paid() != 0.002 {
		t.Errorf("%+v", rec)
	}
}

// panicking in the second stage of a cascade.
type panicsInStage struct {
	context.Context
	armed atomic.Bool
}

func (p *panicsInStage) Value(key any) any {
	if p.armed.Load() && strings.Contains(string(debug.Stack()), "(*staged).ask") {
		panic("a fault of the program")
	}
	return p.Context.Value(key)
}

// A panic in a stage ends its request and no other, and holds nothing of a budget. The stages before are in the record.
func TestCascadePanic(t *testing.T) {
	w := newCascade(t, budgeted(budget.Budget{Name: "all", Tokens: 1e9, Per: ledger.Month, Of: budget.Total}))
	ctx := &panicsInStage{Context: t.Context()}
	w.small.Text = unsure
	w.large.Fault = func(int, http.ResponseWriter, *http.Request) bool { ctx.armed.Store(true); return false }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(staging+`,"max_tokens":100}`))
		w.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}()
	if s := w.state(t); s.Held != 0 || s.Spent < 1100 {
		t.Errorf("%+v", s)
	}
	if a := w.post(t, staging+`,"max_tokens":100}`); a.status != 200 || a.header.Get(headerStages) != "small/none,large/none" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if rec := w.records(t)[0]; len(rec.Cascade) != 1 || rec.Executed != -1 {
		t.Errorf("%+v", rec)
	}
}

// Beside a cascade the requests to other policies have the same bytes, and their records the same lines.
func TestNoCascade(t *testing.T) {
	plain, with := newWorld(t, nil), newCascade(t, nil)
	for _, end := range []string{`}`, `,"stream":true}`} {
		a, b := plain.post(t, question+end), with.post(t, question+end)
		if a.body != b.body || a.status != b.status || b.header.Get(headerStages) != "" {
			t.Errorf("%s\n%s", a.body, b.body)
		}
	}
	for i, x := range plain.small.Requests() {
		if y := with.small.Requests()[i]; string(x.Body) != string(y.Body) {
			t.Errorf("%s\n%s", x.Body, y.Body)
		}
	}
	for _, w := range []*world{plain, with} {
		for _, rec := range w.records(t) {
			if rec.IsCascade() {
				t.Errorf("%+v", rec)
			}
		}
		files, err := filepath.Glob(filepath.Join(w.logged, "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "stages\":[") || strings.Contains(string(text), "stage_action") {
				t.Errorf("%s has stages: %v", file, err)
			}
		}
	}
}

// Exploration of the first decision is part of the path, and a canary makes it unknown.
func TestCascadePropensity(t *testing.T) {
	w := newCascade(t, nil, func(s *decision.Settings) { s.Explore.Epsilon = 0.5 })
	w.small.Text, w.large.Text = unsure, sure
	for range 20 {
		if a := w.post(t, staging+`}`); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	for _, rec := range w.records(t) {
		if p := rec.PathPropensity(); p != rec.Propensity[rec.Action] || !(p > 0 && p < 1) || rec.Cascade[0].Action != rec.Action {
			t.Errorf("%v of %+v", p, rec)
		}
	}
}

// counted is the value of a counter with labels, 0 if it was never counted.
func counted(t *testing.T, w *world, name string, labels ...string) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := map[string]bool{}
			for _, l := range m.GetLabel() {
				has[l.GetValue()] = true
			}
			if f.GetName() == name && !slices.ContainsFunc(labels, func(l string) bool { return !has[l] }) {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

// What cannot be asked any more is left out before a stage is decided on: nothing is tried with it.
func TestCascadeMasksOfStages(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"an open breaker": func(s *Settings) { s.Breaker.Failures = 1 },
		"a full budget":   budgeted(budget.Budget{Name: "large", Tokens: 700, Per: ledger.Day, Of: budget.Expert, Only: []string{"large"}}),
	} {
		t.Run(name, func(t *testing.T) {
			w := newCascade(t, change)
			w.small.Text = unsure
			w.small.Fault = func(int, http.ResponseWriter, *http.Request) bool {
				w.post(t, `{"model":"large","messages":[{"role":"user","content":"Is oil good?"}]}`)
				return false
			}
			if name == "an open breaker" {
				w.large.Fault = fault(500)
			}
			a := w.post(t, staging+`}`)
			rec := w.records(t)[0]
			if a.status != 200 || a.header.Get(headerStages) != "small/none" || len(w.large.Requests()) != 1 || !rec.Available[largeNone] || len(rec.Attempts) != 1 || counted(t, w, "pipe_cascade_requests_total", "any", "in_hand") != 1 {
				t.Errorf("%d %s %v\n%+v", a.status, a.body, a.header, rec)
			}
		})
	}
}
