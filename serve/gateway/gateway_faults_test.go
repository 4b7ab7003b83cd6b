package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pipe/internal/parallel"
	"pipe/serve/access"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/protocol"
)

// A stream that breaks after its first event ends with an error that clients see, and no other expert is asked.
func TestBrokenStreams(t *testing.T) {
	chunk := gatewaytest.Chunk("model-s", "half", "null")
	for name, c := range map[string]struct {
		rest func(http.ResponseWriter, *http.Request)
		want string
	}{
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, chunk[:30])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "the stream ended early"},
		"ends":  {func(http.ResponseWriter, *http.Request) {}, "the stream ended early"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "the stream stopped for 400ms"},
		"drips": {func(w http.ResponseWriter, r *http.Request) {
			for i := 0; r.Context().Err() == nil; i++ {
				io.WriteString(w, chunk[i:i+1]) // a second and more for the event
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, "the stream stopped for 400ms"},
		"cut within a chunk": {func(w http.ResponseWriter, _ *http.Request) {
			conn, out, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(out, "%x\r\n%.13s", len(chunk), chunk)
			out.Flush()
			conn.Close()
		}, "the stream ended early"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.small.Fault = func(_ int, rw http.ResponseWriter, r *http.Request) bool {
				rw.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(rw, chunk)
				rw.(http.Flusher).Flush()
				c.rest(rw, r)
				return true
			}
			a := w.post(t, question+`,"stream":true}`)
			rest, ok := strings.CutPrefix(a.body, chunk)
			if a.status != 200 || !ok || !strings.HasPrefix(rest, `data: {"error":{"code":"expert_`) || !strings.Contains(rest, c.want) || !strings.HasSuffix(rest, "\n\n") || strings.Contains(rest, "[DONE]") {
				t.Errorf("%d %s", a.status, a.body)
			}
			if n := len(w.large.Requests()); n != 0 {
				t.Errorf("the other expert got %d requests", n)
			}
			rec := w.records(t)[0]
			if rec.Executed != 1 || !strings.Contains(rec.Error, c.want) || rec.FeeKnown || rec.Usage.Known {
				t.Errorf("%+v", rec)
			}
		})
	}
}

// A client that leaves ends the expert's call, before the first byte and within a stream; the log says so.
func TestClientsWhoLeave(t *testing.T) {
	for _, stream := range []bool{false, true} {
		w := newWorld(t, func(s *Settings) {
			for name, e := range s.Experts {
				e.Timeouts.Answer, e.Timeouts.Idle = 20*time.Second, 20*time.Second
				s.Experts[name] = e
			}
		})
		w.small.Fault = func(_ int, rw http.ResponseWriter, r *http.Request) bool {
			if stream {
				rw.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(rw, gatewaytest.Chunk("model-s", "half", "null"))
				rw.(http.Flusher).Flush()
			}
			<-r.Context().Done()
			return true
		}
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/v1/chat/completions", strings.NewReader(question+fmt.Sprintf(`,"stream":%v}`, stream)))
		if stream {
			response, err := w.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			cancel()
			response.Body.Close()
		} else {
			time.AfterFunc(100*time.Millisecond, cancel)
			if response, err := w.Client().Do(r); err == nil {
				response.Body.Close()
				t.Fatal("an answer came")
			}
		}
		for begin := time.Now(); !strings.Contains(w.text.String(), "the client disconnected") && time.Since(begin) < 3*time.Second; time.Sleep(5 * time.Millisecond) {
		}
		w.Server.Close() // waits for the handler
		if w.small.Gone() != 1 || !strings.Contains(w.text.String(), "the client disconnected") || len(w.large.Requests()) != 0 {
			t.Errorf("stream %v: %d calls ended, %s", stream, w.small.Gone(), w.text.String())
		}
		rec := w.records(t)[0]
		if rec.Error != "the client left" || (rec.Executed == 1) != stream {
			t.Errorf("stream %v: %+v", stream, rec)
		}
		if w.api.current.experts["small"].State() != expert.Closed {
			t.Error("the breaker counts it")
		}
	}
}

// An expert whose breaker is open is masked in the decision, and its propensity is 0.
func TestOpenBreakersAreMasked(t *testing.T) {
	w := newWorld(t, func(s *Settings) { s.Breaker.Failures = 2 })
	w.small.Fault = fault(500)
	for i := range 4 {
		a := w.post(t, question+`}`)
		if fallbacks := a.header.Get("X-Pipe-Fallbacks"); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" || (fallbacks == "1") != (i < 2) {
			t.Errorf("request %d: %d by %s after %q", i, a.status, a.header.Get("X-Pipe-Expert"), fallbacks)
		}
	}
	if n := len(w.small.Requests()); n != 2 {
		t.Errorf("%d requests to the broken expert", n)
	}
	if b := w.api.Breakers(); len(b) != 2 || b[0].State != expert.Closed || !b[0].Since.IsZero() || b[1].Expert != "small" || b[1].State != expert.Open || time.Since(b[1].Since) > time.Minute {
		t.Errorf("breakers %+v", b)
	}
	recs := w.records(t)
	if last := recs[3]; last.Action != 3 || last.Available[1] || last.Propensity[1] != 0 || last.Propensity[3] != 1 || recs[0].Action != 1 || !recs[0].Available[1] {
		t.Errorf("%+v", last)
	}
	want := "# HELP pipe_breaker_state Circuit breaker of an expert: 0 closed, 1 half open, 2 open.\n# TYPE pipe_breaker_state gauge\npipe_breaker_state{expert=\"large\"} 0\npipe_breaker_state{expert=\"small\"} 2\n" +
		"# HELP pipe_fallbacks_total Calls of an expert after which the next best pair was tried.\n# TYPE pipe_fallbacks_total counter\npipe_fallbacks_total{expert=\"small\",reason=\"status_500\"} 2\n"
	if err := testutil.GatherAndCompare(w.registry, strings.NewReader(want), "pipe_breaker_state", "pipe_fallbacks_total"); err != nil {
		t.Error(err)
	}
}

// A request for an expert by name goes to it, whatever its breaker's neighbours do, and no other expert answers for it.
func TestPassThrough(t *testing.T) {
	w := newWorld(t, nil)
	body := `{"model":"large","messages":[],"x":1}`
	body = strings.Replace(body, "[]", `[{"role":"user","content":"x"}]`, 1)
	a := w.post(t, body)
	if a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" || a.header.Get("X-Pipe-Decision") != "" || a.body != gatewaytest.Completion("model-l", w.large.Text) {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if got, want := string(w.large.Requests()[0].Body), strings.Replace(body, "large", "model-l", 1); got != want {
		t.Errorf("sent %s", got)
	}
	if a := w.post(t, strings.Replace(body, "large", "model-s", 1)); a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" {
		t.Errorf("by the model's name: %d %s", a.status, a.body)
	}
	w.large.Fault = fault(500)
	if a := w.post(t, body); a.status != 502 || !strings.Contains(a.message(), "large: HTTP 500") || len(w.small.Requests()) != 1 {
		t.Errorf("%d %s", a.status, a.body)
	}
	// What is no list of messages is passed to the expert, which refuses it.
	if a := w.post(t, `{"model":"small"}`); a.status != 400 || !strings.Contains(a.message(), "no messages") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// What a request holds besides the name of the model reaches the expert byte for byte, and so does what it answers.
func TestEverythingElsePasses(t *testing.T) {
	w := newWorld(t, func(s *Settings) { delete(s.Advice, "search") })
	const answer = `{ "choices":[{"index":0,"message":{"role":"assistant","content":null,"audio":{"id":"a"},"x":1.0},"logprobs":{"content":[{"token":"a","logprob":-0.10}]},"finish_reason":"stop"}, {"index":1}],"model":"model-l","service_tier":null,"seed":12345678901234567890 }`
	w.large.Fault = func(_ int, rw http.ResponseWriter, _ *http.Request) bool { io.WriteString(rw, answer); return true }
	body := ` {"n": 2,"logprobs":true , "model":"pipe/claims","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"Is oil good? \u00e9\/"},` +
		`{"type":"image_url","image_url":{"url":"https://x/a.png","detail":"low"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"7"}],` +
		`"temperature":1.00,"logit_bias":{"50256":-100},"metadata":{"a":"b"},"prediction":null,"unknown":[1e400,-0,0.1000]}` + "\n"
	a := w.post(t, body)
	if a.status != 200 || a.body != answer {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if got, want := string(w.large.Requests()[0].Body), strings.Replace(body, `"pipe/claims"`, `"model-l"`, 1); got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
	version := a.header.Get("X-Pipe-Policy")
	if a := w.post(t, strings.Replace(body, "pipe/claims", "pipe/"+version, 1)); a.status != 200 || a.header.Get("X-Pipe-Policy") != version {
		t.Errorf("by version %s: %d %s", version, a.status, a.body)
	}
}

// An answer of a gigabyte is given up at the limit, and the next expert answers.
func TestGigabytes(t *testing.T) {
	w := newWorld(t, func(s *Settings) {
		for name, e := range s.Experts {
			e.MaxAnswer, e.Timeouts.Answer = 1<<20, 10*time.Second
			s.Experts[name] = e
		}
	})
	sent := 0
	w.small.Fault = func(_ int, rw http.ResponseWriter, r *http.Request) bool {
		block := []byte(strings.Repeat(" ", 1<<20))
		for ; sent < 1<<10 && r.Context().Err() == nil; sent++ {
			if _, err := rw.Write(block); err != nil {
				break
			}
		}
		return true
	}
	if a := w.post(t, question+`}`); a.status != 200 || a.header.Get("X-Pipe-Expert") != "large" {
		t.Errorf("%d %s", a.status, a.body)
	}
	w.small.Close() // waits for the handler
	if sent > 100 {
		t.Errorf("the service could send %d MiB", sent)
	}
}

func TestNoGateway(t *testing.T) {
	mux := http.NewServeMux()
	RegisterNone(mux)
	for _, path := range []string{"/v1/models", "/v1/models/pipe"} {
		out := httptest.NewRecorder()
		mux.ServeHTTP(out, httptest.NewRequest(http.MethodGet, path, nil))
		if out.Code != 404 || !strings.Contains(out.Body.String(), "gateway.experts") {
			t.Errorf("%s: %d %s", path, out.Code, out.Body)
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	w := newWorld(t, nil)
	for body, want := range map[string]string{
		`{`:                             "400 invalid_request_error invalid_request: the body is not",
		`{"model":"gpt-99"}`:            "404 invalid_request_error model_not_found: The model \"gpt-99\" does not exist",
		`{"model":"pipe/other"}`:        "400 invalid_request_error invalid_request: messages",
		`{"model":"pipe"}`:              "400 invalid_request_error invalid_request: messages: are missing",
		`{"model":"pipe","messages":7}`: "400 invalid_request_error invalid_request: messages must be",
		`{"model":"pipe/other","messages":[{"role":"user","content":"x"}]}`:                                                   "404 invalid_request_error model_not_found: The model \"pipe/other\"",
		`{"model":"pipe","messages":[{"role":"system","content":"x"}]}`:                                                       "400 invalid_request_error no_fixed_pair: messages: no message has a text",
		`{"model":"pipe","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/a.png"}}]}]}`: "400 invalid_request_error",
		`{"model":"pipe","model":"small","messages":[{"role":"user","content":"x"}]}`:                                         "duplicate key",
	} {
		if got := w.post(t, body).message(); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if a := w.post(t, `{}`, "Content-Encoding", "gzip"); a.status != 415 {
		t.Errorf("compressed: %d %s", a.status, a.body)
	}
	for path, c := range map[string]struct{ body, want string }{
		"/v1/embeddings":            {`{"model":"pipe","input":"x"}`, `400 {"error":{"code":"not_routed","message":"a policy routes no embeddings: name an expert; GET /v1/models lists them","param":"model","type":"invalid_request_error"}}`},
		"/v1/completions":           {`{}`, `400 {"error":{"code":"invalid_request","message":"model must be the name of a model","param":"model","type":"invalid_request_error"}}`},
		"/v1/responses":             {`{"model":"pipe"}`, `400 {"error":{"code":"invalid_request","message":"messages: are missing","param":"input","type":"invalid_request_error"}}`},
		"/v1/messages":              {`{"model":"x","messages":[{"role":"user","content":"a"}]}`, `404 {"error":{"message":"The model \"x\" does not exist here; GET /v1/models lists those that do","type":"not_found_error"},"type":"error"}`},
		"/v1/messages/count_tokens": {`{"model":7}`, `400 {"error":{"message":"model must be the name of a model","type":"invalid_request_error"},"type":"error"}`},
	} {
		response, err := w.Client().Post(w.URL+path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if got := fmt.Sprintf("%d %s", response.StatusCode, text); got != c.want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if n := len(w.small.Requests()) + len(w.large.Requests()); n != 0 {
		t.Errorf("%d requests reached experts", n)
	}
}

func TestModels(t *testing.T) {
	w := newWorld(t, nil)
	for path, want := range map[string]string{
		"/v1/models":               `"id":"pipe","object":"model","created":`,
		"/v1/models/pipe%2Fclaims": `{"id":"pipe/claims","object":"model","created":`,
		"/v1/models/pipe/claims":   `{"id":"pipe/claims"`,
		"/v1/models/small":         `{"id":"small","object":"model","created":0,"owned_by":"expert"}`,
		"/v1/models/none":          `"code":"model_not_found"`,
	} {
		response, err := w.Client().Get(w.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if !strings.Contains(string(text), want) || strings.Contains(string(text), "model_not_found") != (response.StatusCode == 404) {
			t.Errorf("%s: %d %s", path, response.StatusCode, text)
		}
	}
}

// What an answer cost is charged to the caller's key; another model than the configured one has no price here, and is
// told in a header, a metric and the log, once.
func TestChargesAndOtherModels(t *testing.T) {
	w := newWorld(t, nil)
	keys, err := access.New(access.Settings{Keys: []access.Key{{Name: "me", Key: "caller-key-0123456789abcdef"}}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := keys.Admit("caller-key-0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	ask := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(question+`}`))
		out := httptest.NewRecorder()
		w.api.answer(protocol.Chat)(out, r.WithContext(access.With(r.Context(), caller)))
		return out
	}
	ask()
	if s := caller.Spent(); s.Tokens != 1100 || s.Money != 0.002 {
		t.Errorf("spent %+v", s)
	}
	w.small.Model = "model-new"
	for range 2 {
		if out := ask(); out.Code != 200 || out.Header().Get("X-Pipe-Served-Model") != "model-new" {
			t.Errorf("%d %v", out.Code, out.Header())
		}
	}
	if s := caller.Spent(); s.Tokens != 3300 || s.Money != 0.002 {
		t.Errorf("spent %+v", s)
	}
	want := "# HELP pipe_other_model_total Answers of another model than the configured one.\n# TYPE pipe_other_model_total counter\npipe_other_model_total{expert=\"small\"} 2\n"
	if err := testutil.GatherAndCompare(w.registry, strings.NewReader(want), "pipe_other_model_total"); err != nil {
		t.Error(err)
	}
	if n := strings.Count(w.text.String(), "another model than the configured one"); n != 1 {
		t.Errorf("said %d times", n)
	}
	for i, rec := range w.records(t) {
		if rec.Client != "me" || rec.FeeKnown != (i == 0) || i > 0 && (rec.Model != "model-new" || rec.Fee != 0) {
			t.Errorf("%+v", rec)
		}
	}
}

// A caller who leaves before the usage comes is charged with an estimate, and so is one whose service states none.
func TestUnknownUsageIsEstimated(t *testing.T) {
	w := newWorld(t, nil)
	keys, err := access.New(access.Settings{Keys: []access.Key{{Name: "me", Key: "caller-key-0123456789abcdef"}}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := keys.Admit("caller-key-0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	w.small.Fault = func(n int, rw http.ResponseWriter, r *http.Request) bool {
		if n == 2 { // the client leaves
			<-r.Context().Done()
			return true
		}
		rw.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(rw, strings.Repeat(gatewaytest.Chunk("model-s", "a", "null"), 7))
		if n == 0 {
			io.WriteString(rw, "data: [DONE]\n\n")
		}
		return true // the second one is cut
	}
	body := question + `,"stream":true}`
	in := int64(len(body) / 4)
	for i, want := range []int64{in + 7, in + 7, in} {
		before := caller.Spent()
		ctx, cancel := context.WithTimeout(access.With(t.Context(), caller), 200*time.Millisecond)
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)).WithContext(ctx)
		w.api.answer(protocol.Chat)(httptest.NewRecorder(), r)
		cancel()
		after := caller.Spent()
		money := float64(in)/1e6 + 10*float64(want-in)/1e6
		if after.Tokens-before.Tokens != want || after.Money-before.Money < money-1e-9 || after.Money-before.Money > money+1e-9 {
			t.Errorf("request %d: charged %d tokens and %v, want %d and %v", i, after.Tokens-before.Tokens, after.Money-before.Money, want, money)
		}
	}
	for _, rec := range w.records(t) {
		if rec.FeeKnown || rec.Usage.Known {
			t.Errorf("%+v", rec)
		}
	}
}

// Many callers at once, with faults among them: every one gets an answer, and every decision is logged once.
func TestManyCallers(t *testing.T) {
	w := newWorld(t, func(s *Settings) {
		s.Breaker.Failures = 1000
		s.Fallback.Deadline = time.Minute
		for name, e := range s.Experts { // a machine with much to do is no fault
			e.Timeouts = expert.Timeouts{FirstByte: time.Minute, Answer: time.Minute, Idle: time.Minute, Whole: time.Minute}
			s.Experts[name] = e
		}
	})
	w.small.Fault = func(n int, rw http.ResponseWriter, r *http.Request) bool {
		return n%3 == 0 && fault(500)(n, rw, r)
	}
	const n = 120
	err := parallel.Each(t.Context(), 16, n, func(_ context.Context, i int) error {
		a := w.post(t, question+fmt.Sprintf(`,"stream":%v}`, i%2 == 0))
		if a.status != 200 || !strings.Contains(a.body, "test.") {
			return fmt.Errorf("%d %s", a.status, a.body)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	recs := w.records(t)
	ids := map[string]bool{}
	for _, r := range recs {
		ids[r.ID] = true
	}
	if len(recs) != n || len(ids) != n {
		t.Errorf("%d records with %d ids", len(recs), len(ids))
	}
}

// A slow expert is cut only while another one could answer.
func TestTheLastExpertIsNotCut(t *testing.T) {
	slow := func(_ int, _ http.ResponseWriter, _ *http.Request) bool {
		time.Sleep(600 * time.Millisecond)
		return false
	}
	for name, c := range map[string]struct {
		model, by string
		change    func(*Settings)
		large     func(int, http.ResponseWriter, *http.Request) bool
	}{
		"another is left":     {"pipe", "large", nil, nil},
		"the other one fails": {"pipe", "large", nil, slow},
		"by name":             {"small", "small", nil, nil},
		"one try":             {"pipe", "small", func(s *Settings) { s.Fallback.Tries = 1 }, nil},
		"no other expert":     {"pipe", "small", func(s *Settings) { delete(s.Experts, "large") }, nil},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(name, stream), func(t *testing.T) {
				w := newWorld(t, c.change)
				w.small.Fault, w.large.Fault = slow, c.large
				a := w.post(t, strings.Replace(question, `"pipe"`, `"`+c.model+`"`, 1)+fmt.Sprintf(`,"stream":%v}`, stream))
				if a.status != 200 || a.header.Get("X-Pipe-Expert") != c.by {
					t.Errorf("%d by %s: %s", a.status, a.header.Get("X-Pipe-Expert"), a.body)
				}
			})
		}
	}
}
