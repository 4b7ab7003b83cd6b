package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/convert"
	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/metrics"
	"pipe/serve/policies"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a gateway over two experts and two kinds of advice besides none, and the services behind them.
type world struct {
	*httptest.Server
	api          *API
	small, large *gatewaytest.Server
	search       *httptest.Server // of advice
	found        http.HandlerFunc // what it answers
	decider      *decision.Decider
	log          *decisionlog.Writer
	logged       string // folder of the decision log
	text         lockedText
	registry     *prometheus.Registry
}

// lockedText is a text that goroutines write.
type lockedText struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// writePolicy writes a policy of texts with the experts small and large and the advice none and search. Its expected
// losses do not depend on the text: 0.1 of small/search (pair 1), 0.2 of large/search (3), 0.3 of large/none (2) and 0.4 of
// small/none (0).
func writePolicy(t testing.TB, folder, name string, info map[string]string) {
	t.Helper()
	router, model := filepath.Join(t.TempDir(), "policy.onnx"), filepath.Join(t.TempDir(), "small")
	exportPolicy(t, lossPolicy(info), router)
	o := convert.DefaultOptions()
	o.Model, o.Merge, o.Out = model, storage.File(router), storage.File(filepath.Join(folder, name+".onnx"))
	if err := errors.Join(os.Mkdir(model, 0o777), hftest.WriteBERT(model)); err != nil {
		t.Fatal(err)
	}
	if _, err := convert.Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// writeAnyPrice writes the policy of writePolicy as an any-price policy, after a change, with its encoder beside it.
func writeAnyPrice(t testing.TB, folder, name string, change func(*policy.Policy)) {
	t.Helper()
	exportPolicy(t, anyPricePolicy(change), filepath.Join(folder, name+".onnx"))
	encoder := encoderOf(folder, name)
	if err := errors.Join(os.Mkdir(encoder, 0o777), hftest.WriteBERT(encoder)); err != nil {
		t.Fatal(err)
	}
}

// anyPricePolicy is the policy of writePolicy as an any-price policy, after a change.
func anyPricePolicy(change func(*policy.Policy)) *policy.Policy {
	p, r := lossPolicy(nil), policy.DefaultPriceRange()
	p.Estimate.Prices = &r
	change(p)
	return p
}

// encoderOf is the folder of the encoder that writeAnyPrice writes.
func encoderOf(folder, name string) string { return filepath.Join(folder, name+".model") }

// worthOfLoss says in the metadata of a policy what a loss of 1 is worth.
func worthOfLoss(dollars float64) map[string]string {
	return map[string]string{strings.TrimPrefix(costs.MoneyKey, "pipe."): costs.Money{Currency: "USD", PerLoss: dollars}.Text()}
}

// expect makes a policy of lossPolicy expect other losses.
func expect(p *policy.Policy, losses ...float64) {
	p.Estimate.Constant = losses
	for i, v := range losses {
		p.Estimate.Blend.Parts[0].Estimator.(estimate.Linear).Affine.B[i] = float32(v)
	}
}

// exportPolicy writes a policy without its encoder.
func exportPolicy(t testing.TB, p *policy.Policy, file string) {
	t.Helper()
	m, err := p.Export()
	if err == nil {
		err = m.WriteFile(file)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// lossPolicy is the policy of writePolicy, without its encoder.
func lossPolicy(info map[string]string) *policy.Policy {
	features := costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}
	actions := &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "search"}}, Features: features,
	}
	loss := []float32{0.4, 0.1, 0.3, 0.2}
	constant := []float64{0.4, 0.1, 0.3, 0.2}
	return &policy.Policy{
		Actions: actions, Info: info, Method: "auto", Recipe: "auto", Decoder: policy.DecoderEstimate, Dim: hftest.Hidden,
		Standard: network.Standardizer{Mean: make([]float32, hftest.Hidden), Scale: ones(hftest.Hidden)},
		Estimate: &policy.Estimate{
			Blend: estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{
				Affine: network.Affine{Out: 4, In: hftest.Hidden, W: make([]float32, 4*hftest.Hidden), B: loss},
			}}}},
			Constant: constant, Margin: 0.01,
		},
	}
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

// newWorld starts a gateway; change adapts its settings.
func newWorld(t testing.TB, change func(*Settings)) *world {
	t.Helper()
	return newWorldOf(t, nil, change)
}

// newWorldOf is newWorld with metadata of the policy. more adds policies to their folder, and changes the settings of the decider.
func newWorldOf(t testing.TB, info map[string]string, change func(*Settings), more ...func(folder string, s *decision.Settings)) *world {
	t.Helper()
	w := &world{small: gatewaytest.New(t), large: gatewaytest.New(t), logged: filepath.Join(t.TempDir(), "log"), registry: prometheus.NewRegistry()}
	w.found = func(rw http.ResponseWriter, _ *http.Request) {
		io.WriteString(rw, `{"hits":{"hits":[{"_score":1,"_source":{"id":"Olive_oil","text":"Oil is good."}}]}}`)
	}
	w.search = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.found(rw, r) }))
	t.Cleanup(w.search.Close)
	folder := t.TempDir()
	writePolicy(t, folder, "claims", info)
	deciding := decision.DefaultSettings()
	for _, m := range more {
		m(folder, &deciding)
	}
	about := policies.DefaultSettings()
	about.Paths, about.Workers, about.Default = []string{folder}, 1, "claims"
	about.Encoders = make(map[string]string)
	for _, name := range []string{"claims", "priced", "any"} {
		if encoder := encoderOf(folder, name); pathExists(encoder) {
			about.Encoders[name] = encoder
		}
	}
	set, err := policies.Open(t.Context(), about, orttest.Open(t, 1), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.log, err = decisionlog.Open(w.logged, decisionlog.DefaultSettings()); err != nil {
		t.Fatal(err)
	}
	m := metrics.New(w.registry)
	if w.decider, err = decision.New(set, w.log, m, nil, deciding); err != nil {
		t.Fatal(err)
	}
	s := w.settings()
	if change != nil {
		change(&s)
	}
	if w.api, err = New(w.decider, m, slog.New(slog.NewJSONHandler(&w.text, nil)), s); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	w.api.Register(mux)
	w.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		w.Server.Close()
		if err := errors.Join(w.api.Close(), w.decider.Close(), w.log.Close(), set.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func pathExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// settings are those of the services of the world, with short times.
func (w *world) settings() Settings {
	s := DefaultSettings()
	in, out := 1.0, 10.0
	expertOf := func(f *gatewaytest.Server, model string) expert.Settings {
		e := expert.DefaultSettings()
		e.BaseURL, e.Model, e.Price = f.Base(), model, &expert.Price{In: &in, Cached: &in, Out: &out}
		e.Timeouts = expert.Timeouts{FirstByte: 400 * time.Millisecond, Answer: 400 * time.Millisecond, Idle: 400 * time.Millisecond, Whole: 5 * time.Second}
		return e
	}
	s.Experts = map[string]expert.Settings{"small": expertOf(w.small, "model-s"), "large": expertOf(w.large, "model-l")}
	a := advice.DefaultSettings()
	a.Kind, a.Search, a.Timeout = advice.KindSearch, map[string]any{"url": w.search.URL, "index": "wiki"}, 300*time.Millisecond
	s.Advice = map[string]advice.Settings{"search": a}
	s.Fallback = Fallback{Tries: 3, Deadline: 5 * time.Second}
	return s
}

// answer is what a caller got.
type answer struct {
	status int
	header http.Header
	body   string
}

// message is the message of an error, "" if the answer is none.
func (a answer) message() string {
	var e struct {
		Error struct{ Message, Type, Code string }
	}
	_ = json.Unmarshal([]byte(a.body), &e)
	if e.Error.Message == "" {
		return ""
	}
	return fmt.Sprintf("%d %s %s: %s", a.status, e.Error.Type, e.Error.Code, e.Error.Message)
}

// post sends a request.
func (w *world) post(t testing.TB, body string, header ...string) answer {
	t.Helper()
	return w.postTo(t, "/v1/chat/completions", body, append([]string{"Content-Type", "application/json"}, header...)...)
}

// records closes the log and returns what it has, in order.
func (w *world) records(t testing.TB) []*decisionlog.Record {
	t.Helper()
	if err := errors.Join(w.decider.Close(), w.log.Close()); err != nil {
		t.Fatal(err)
	}
	l, err := decisionlog.Read(w.logged)
	if err != nil {
		t.Fatal(err)
	}
	var out []*decisionlog.Record
	for r, err := range l.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r.Record)
	}
	return out
}

const question = `{"model":"pipe","messages":[{"role":"user","content":"Is oil good?"}],"seed":12345678901234567890,"user":"u1"`

func TestWholeAnswers(t *testing.T) {
	w := newWorld(t, nil)
	a := w.post(t, question+`}`, "X-Request-Id", "r1", "Traceparent", "00-a-b-01", "Authorization", "Bearer caller", "Cookie", "c=1")
	if a.status != 200 || a.body != gatewaytest.Completion("model-s", w.small.Text) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for name, want := range map[string]string{
		"X-Pipe-Expert": "small", "X-Pipe-Advice": "search", "X-Pipe-Expected-Cost": "0.1", "X-Pipe-Fallbacks": "", "X-Pipe-Served-Model": "",
		"X-Pipe-Expert-Request-Id": "service-0", "Content-Type": "application/json", "X-Content-Type-Options": "nosniff",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if p := a.header.Get("X-Pipe-Policy"); !strings.HasPrefix(p, "claims@") || len(p) != len("claims@")+12 {
		t.Errorf("policy %q", p)
	}
	sent := w.small.Requests()[0]
	if h := sent.Header; h.Get("X-Request-Id") != "r1" || h.Get("Traceparent") != "00-a-b-01" || h.Get("Authorization") != "" || h.Get("Cookie") != "" {
		t.Errorf("sent headers %v", h)
	}
	want := `{"model":"model-s","messages":[{"role":"user","content":"The text between`
	if b := string(sent.Body); !strings.HasPrefix(b, want) || !strings.Contains(b, `Oil is good.`) || !strings.HasSuffix(b, `,{"role":"user","content":"Is oil good?"}],"seed":12345678901234567890,"user":"u1"}`) {
		t.Errorf("sent %s", b)
	}
	r := w.records(t)
	if len(r) != 1 {
		t.Fatalf("%d records", len(r))
	}
	rec := r[0]
	if rec.ID != a.header.Get("X-Pipe-Decision") || rec.Request != "r1" || rec.Source != "chat" || rec.Action != 1 || rec.Executed != 1 || rec.Error != "" || rec.User == "" || rec.User == "u1" {
		t.Errorf("%+v", rec)
	}
	if len(rec.Attempts) != 1 || rec.Attempts[0].Status != 200 || rec.Model != "model-s" || !rec.FeeKnown || rec.Fee != 0.002 ||
		rec.Usage != (decisionlog.Usage{In: 1000, Cached: 400, Out: 100, Known: true, CachedKnown: true}) || rec.Stages.Advise == 0 || rec.Stages.Expert == 0 || rec.Stages.FirstByte < rec.Stages.Expert {
		t.Errorf("%+v", rec)
	}
	if strings.Contains(w.text.String(), "oil") {
		t.Errorf("the log quotes the request: %s", w.text.String())
	}
}

func TestStreamedAnswers(t *testing.T) {
	w := newWorld(t, nil)
	a := w.post(t, question+`,"stream":true}`)
	want := gatewaytest.Chunk("model-s", "It ", "null") + gatewaytest.Chunk("model-s", "is ", "null") + gatewaytest.Chunk("model-s", "a ", "null") +
		gatewaytest.Chunk("model-s", "test.", "null") + gatewaytest.Chunk("model-s", "", `"stop"`) + "data: [DONE]\n\n"
	if a.status != 200 || a.body != want || a.header.Get("Content-Type") != "text/event-stream" || a.header.Get("X-Pipe-Expert") != "small" || a.header.Get("Content-Length") != "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	rec := w.records(t)[0]
	if rec.Executed != 1 || !rec.FeeKnown || rec.Fee != 0.002 || rec.Model != "model-s" || rec.Error != "" || rec.Stages.FirstByte == 0 {
		t.Errorf("%+v", rec)
	}
}

// Events are passed on when they come, not at the end.
func TestEventsArePassedOnAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	next := make(chan string)
	w.small.Fault = func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "text/event-stream")
		for event := range next {
			io.WriteString(rw, event)
			rw.(http.Flusher).Flush()
		}
		return true
	}
	response, err := w.Client().Post(w.URL+"/v1/chat/completions", "", func() io.Reader {
		go func() { next <- gatewaytest.Chunk("m", "0", "null") }()
		return strings.NewReader(question + `,"stream":true}`)
	}())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for i := range 3 {
		want := gatewaytest.Chunk("m", fmt.Sprint(i), "null")
		got := make([]byte, len(want))
		if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v", got, err)
		}
		if i < 2 {
			next <- gatewaytest.Chunk("m", fmt.Sprint(i+1), "null")
		}
	}
	next <- "data: [DONE]\n\n"
	close(next)
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "data: [DONE]\n\n" {
		t.Errorf("%q, %v", rest, err)
	}
	if h := response.Header.Get("X-Pipe-Served-Model"); h != "m" {
		t.Errorf("served %q", h)
	}
}

// fault makes a service fail with a status.
func fault(code int) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(code)
		io.WriteString(w, `{"error":{"message":"the service says secret-word"}}`)
		return true
	}
}

func TestFallback(t *testing.T) {
	hang := func(_ int, _ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	type faults = func(int, http.ResponseWriter, *http.Request) bool
	impatient := func(s *Settings) {
		for name, e := range s.Experts {
			e.Timeouts.Whole = 600 * time.Millisecond
			s.Experts[name] = e
		}
	}
	for name, c := range map[string]struct {
		small, large faults
		noAdvice     bool
		change       func(*Settings)
		status       int
		pair         string // that answered
		attempts     string
		want         string // in the message
	}{
		"the first works":       {nil, nil, false, nil, 200, "small/search", "1:200", ""},
		"500, then the next":    {fault(500), nil, false, nil, 200, "large/search", "1:500 3:200", ""},
		"429, then the next":    {fault(429), nil, false, nil, 200, "large/search", "1:429 3:200", ""},
		"a wrong key":           {fault(401), nil, false, nil, 200, "large/search", "1:401 3:200", ""},
		"hangs":                 {hang, nil, false, nil, 200, "large/search", "1:0 3:200", ""},
		"no advice":             {nil, nil, true, nil, 200, "large/none", "1:0 3:0 2:200", ""},
		"no advice, then 500":   {nil, fault(500), true, nil, 200, "small/none", "1:0 3:0 2:500 0:200", ""},
		"the caller's fault":    {fault(400), nil, false, nil, 400, "small/search", "1:400", "the service says secret-word"},
		"all fail":              {fault(500), fault(503), false, nil, 502, "", "1:500 3:503", "no expert answered: small: HTTP 500 Internal Server Error; large: HTTP 503"},
		"all are limited":       {fault(429), fault(429), false, nil, 429, "", "1:429 3:429", "rate_limit_error"},
		"all hang":              {hang, hang, false, impatient, 504, "", "1:0 3:0", "did not end within 600ms"},
		"one try":               {fault(500), nil, false, func(s *Settings) { s.Fallback.Tries = 1 }, 502, "", "1:500", "no expert answered: small"},
		"the deadline":          {hang, hang, false, func(s *Settings) { s.Fallback.Deadline = 200 * time.Millisecond }, 504, "", "1:0", "not within 200ms"},
		"an expert is unknown":  {nil, nil, false, func(s *Settings) { delete(s.Experts, "small") }, 200, "large/search", "3:200", ""},
		"advice is unknown":     {nil, nil, false, func(s *Settings) { delete(s.Advice, "search") }, 200, "large/none", "2:200", ""},
		"no expert of policies": {nil, nil, false, func(s *Settings) { s.Experts = map[string]expert.Settings{"x": s.Experts["small"]} }, 400, "", "", "unusable_policy: no expert of policy"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.change)
			w.small.Fault, w.large.Fault = c.small, c.large
			if c.noAdvice {
				w.found = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500); io.WriteString(rw, "secret-word") }
			}
			a := w.post(t, question+`}`)
			pair := strings.Trim(a.header.Get("X-Pipe-Expert")+"/"+a.header.Get("X-Pipe-Advice"), "/")
			if a.status != c.status || pair != c.pair || !strings.Contains(a.message(), c.want) || c.status != 400 && strings.Contains(a.body+w.text.String(), "secret-word") {
				t.Errorf("%d by %q: %s, want %d by %q\n%s", a.status, pair, a.body, c.status, c.pair, w.text.String())
			}
			if wait := a.header.Get("Retry-After"); c.status == 429 && wait != "1" || c.status == 502 && wait != "" {
				t.Errorf("retry after %q", wait)
			}
			var attempts []string
			executed := -1
			if c.attempts != "" {
				recs := w.records(t)
				executed = recs[0].Executed
				for _, at := range recs[0].Attempts {
					attempts = append(attempts, fmt.Sprintf("%d:%d", at.Action, at.Status))
				}
				if (recs[0].Error == "") != (c.status == 200) {
					t.Errorf("record says %q", recs[0].Error)
				}
			}
			if got := strings.Join(attempts, " "); got != c.attempts || (executed < 0) != (c.pair == "") {
				t.Errorf("attempts %s, executed %d, want %s", got, executed, c.attempts)
			}
		})
	}
}
