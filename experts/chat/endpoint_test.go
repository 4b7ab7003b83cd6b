package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/costs/prices"
	"pipe/experts/chat/chattest"
	"pipe/experts/language"
	"pipe/experts/service"
	"pipe/experts/service/servicetest"
)

const half = `{"id":"x","choices":[{"index":0,"message":{"role":"assis`

// What passes by is tried again, as long as was asked for; the answer is the one
// that comes then.
func TestPassingFaultsAreTriedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request)
		least time.Duration
	}{
		"429":                       {servicetest.Status(429), 0},
		"429 with seconds":          {servicetest.Status(429, "Retry-After", "1"), time.Second},
		"503 with a date":           {servicetest.Status(503, "Retry-After", time.Now().Add(3*time.Second).UTC().Format(http.TimeFormat)), 500 * time.Millisecond},
		"429 with nonsense":         {servicetest.Status(429, "Retry-After", "soon"), 0},
		"500":                       {servicetest.Status(500), 0},
		"502 with a page":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502); io.WriteString(w, "<html>") }, 0},
		"408":                       {servicetest.Status(408), 0},
		"409":                       {servicetest.Status(409), 0},
		"closed without a word":     {servicetest.Cut(""), 0},
		"closed within the headers": {servicetest.Cut("HTTP/1.1 200 OK\r\nConte"), 0},
		"closed within the answer":  {servicetest.Cut("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + half), 0},
		"truncated JSON":            {servicetest.Body(half), 0},
		"nothing":                   {servicetest.Body(""), 0},
		"hangs":                     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := chattest.NewServer(t)
			server.Fault = servicetest.Once(c.fault)
			chat := newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"timeout": 0.5}))
			begin := time.Now()
			got, err := chat.Complete(t.Context(), []language.Conversation{say("Oil is not dry.")})
			if err != nil || got[0].Text != "REFUTES" {
				t.Fatalf("got %+v, %v", got, err)
			}
			if n := server.Requests(); n != 2 {
				t.Errorf("%d requests, want 2", n)
			}
			if took := time.Since(begin); took < c.least {
				t.Errorf("tried again after %v, want %v", took, c.least)
			}
		})
	}
}

// What does not pass by is an error at once, which says what to do and does not
// give the key away.
func TestLastingFaultsStopAtOnce(t *testing.T) {
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	for name, c := range map[string]struct {
		fault      func(http.ResponseWriter, *http.Request)
		want, hint string
	}{
		"400":            {servicetest.Status(400), "HTTP 400 Bad Request", "max_tokens"},
		"401":            {servicetest.Status(401), "HTTP 401 Unauthorized", servicetest.KeyVariable},
		"403":            {servicetest.Status(403), "HTTP 403 Forbidden", servicetest.KeyVariable},
		"404":            {servicetest.Status(404), "HTTP 404 Not Found", "base_url"},
		"422":            {servicetest.Status(422), "HTTP 422", "model"},
		"long wait":      {servicetest.Status(429, "Retry-After", "7200"), "HTTP 429", "2h0m0s"},
		"a page":         {servicetest.Body("<!doctype html><title>Sign in</title>"), "not a chat completion: <!doctype html><title>Sign in", "base_url"},
		"another schema": {servicetest.Body(`{"completion":"SUPPORTS","stop":"x"}`), `not a chat completion: {"completion":"SUPPORTS"`, "base_url"},
		"an old schema":  {servicetest.Body(`{"choices":[{"text":"SUPPORTS"}]}`), "not a chat completion", "base_url"},
		"wrong types":    {servicetest.Body(`{"choices":"SUPPORTS"}`), "not a chat completion", "base_url"},
		"choices twice":  {servicetest.Body(`{"choices":[{"message":{"content":"SUPPORTS"}}],"choices":[{"message":{}}]}`), `duplicate key "choices"`, "base_url"},
		"no choices":     {servicetest.Body(`{"choices":[]}`), "not a chat completion", "base_url"},
		"an error":       {servicetest.Body(`{"error":{"message":"overloaded"}}`), "overloaded", "base_url"},
		"an echo":        {servicetest.Body("<p>Bearer " + servicetest.Key + "</p>"), "Bearer [key]", "base_url"},
		"half an echo":   {servicetest.Body("<p>" + servicetest.Key[:14] + "</p>"), "<p>[key]</p>", "base_url"},
		"control codes":  {servicetest.Body("<p>\x1b[2J\x00\xff</p>"), "<p> [2J </p>", "base_url"},
	} {
		t.Run(name, func(t *testing.T) {
			server := chattest.NewServer(t)
			server.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { c.fault(w, r); return true }
			chat := newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"key": servicetest.KeyVariable}))
			_, err := chat.Complete(t.Context(), []language.Conversation{say("x")})
			var fault *service.Error
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) || !strings.Contains(fault.Hint(), c.hint) {
				t.Fatalf("got %v (hint %q), want %q and %q", err, fault.Hint(), c.want, c.hint)
			}
			if n := server.Requests(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
			if strings.Contains(fmt.Sprintf("%v %+v %#v", err, fault, fault), servicetest.Key) {
				t.Error("the error holds the key")
			}
		})
	}
}

func TestFaultsThatLastEndInAnError(t *testing.T) {
	server := chattest.NewServer(t)
	server.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { servicetest.Status(500)(w, r); return true }
	chat := newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"retries": 3}))
	_, err := chat.Complete(t.Context(), []language.Conversation{say("x")})
	if err == nil || !strings.Contains(err.Error(), "(after 4 attempts)") || server.Requests() != 4 {
		t.Errorf("%d requests, %v", server.Requests(), err)
	}
	server.Close()
	_, err = newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"retries": 1})).Complete(t.Context(), []language.Conversation{say("x")})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("nobody there: %v", err)
	}
}

// A redirect is not followed: another host gets neither key nor conversation.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	visits := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits++ }))
	defer other.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := chattest.NewServer(t)
		server.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL, code)
			return true
		}
		_, err := newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"key": servicetest.KeyVariable})).Complete(t.Context(), []language.Conversation{say("x")})
		var fault *service.Error
		if !errors.As(err, &fault) || fault.Status != code || !strings.Contains(fault.Hint(), "base_url") {
			t.Errorf("%d: %v", code, err)
		}
	}
	if visits != 0 {
		t.Errorf("the other host was visited %d times", visits)
	}
}

// The end of the context ends requests and waits, and leaves nothing running.
func TestCancelledAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request){
		"in a request": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"in a wait":    servicetest.Status(429, "Retry-After", "600"),
	} {
		server := chattest.NewServer(t)
		server.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { fault(w, r); return true }
		chat := newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"timeout": 600}))
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		begin := time.Now()
		_, err := chat.Complete(ctx, []language.Conversation{say("a"), say("b"), say("c"), say("d"), say("e"), say("f")})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 2*time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(begin))
		}
		cancel()
		chat.Close()
		server.Close()
	}
}

func TestRequestsHoldWhatTheSettingsSay(t *testing.T) {
	t.Setenv(servicetest.KeyVariable, servicetest.Key+"\n")
	server := chattest.NewServer(t)
	var got, auth, path string
	server.Fault = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		auth, path = r.Header.Get("Authorization"), r.URL.Path
		return false
	}
	server.Answer = func(user string) string { return "echo " + servicetest.Key + " of " + user }
	s := chatSetup(t, 0)
	c := newChat(t, s, server.Settings(map[string]any{
		"base_url": server.Base() + "/", "key": servicetest.KeyVariable, "seed": 7, "max_tokens": 9, "extra": map[string]any{"reasoning_effort": "low"},
	}))
	got = bodyOf(t, c, Prompt{Turns: say("hi <you>")})
	if want := `{"max_tokens":9,"messages":[{"role":"user","content":"hi \u003cyou\u003e"}],"model":"m","reasoning_effort":"low","seed":7,"temperature":0}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	answers, err := c.Complete(t.Context(), []language.Conversation{say("hi")})
	if err != nil || auth != "Bearer "+servicetest.Key || path != "/v1/chat/completions" {
		t.Errorf("path %q, authorisation %q, %v", path, auth, err)
	}
	if answers[0].Text != "echo [key] of hi" {
		t.Errorf("an answer that gives the key away: %q", answers[0].Text)
	}
	plain := newChat(t, s, server.Settings(map[string]any{"temperature": nil, "max_tokens": nil}))
	if b := bodyOf(t, plain, Prompt{Turns: say("hi")}); b != `{"messages":[{"role":"user","content":"hi"}],"model":"m"}` {
		t.Errorf("without fields: %s", b)
	}
	named := newChat(t, s, server.Settings(map[string]any{"temperature": nil, "extra": map[string]any{"max_completion_tokens": 500}})).(*endpoint)
	if b := bodyOf(t, named, Prompt{Turns: say("hi")}); b != `{"max_completion_tokens":500,"messages":[{"role":"user","content":"hi"}],"model":"m"}` || named.cfg.mostTokens() != 500 {
		t.Errorf("by its other name: %s, at most %d tokens", b, named.cfg.mostTokens())
	}
	if _, err := plain.Complete(t.Context(), []language.Conversation{say("hi")}); err != nil || auth != "" {
		t.Errorf("without a key: authorisation %q, %v", auth, err)
	}
}

// bodyOf is the body of a request.
func bodyOf(t *testing.T, m Model, p Prompt) string {
	t.Helper()
	r, err := m.(*endpoint).request(p, 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.body)
}

// TestFieldsOfPrompts: fields of a prompt lie over those of the settings, another field is another request, and the limit on
// tokens that a budget reserves is that of the request.
func TestFieldsOfPrompts(t *testing.T) {
	s, server := chatSetup(t, 0), chattest.NewServer(t)
	more := map[string]any{"temperature": nil, "max_tokens": 9, "extra": map[string]any{"reasoning": map[string]any{"summary": "auto", "effort": "low"}}}
	c := newChat(t, s, server.Settings(more)).(*endpoint)
	keys := make(map[string]bool)
	for _, one := range []struct {
		fields map[string]any
		want   string
		most   int
	}{
		{nil, `{"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"model":"m","reasoning":{"effort":"low","summary":"auto"}}`, 9},
		{map[string]any{"reasoning": map[string]any{"effort": "high"}}, `{"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"model":"m","reasoning":{"effort":"high","summary":"auto"}}`, 9},
		{map[string]any{"max_completion_tokens": 4000.0}, `{"max_completion_tokens":4000,"messages":[{"role":"user","content":"hi"}],"model":"m","reasoning":{"effort":"low","summary":"auto"}}`, 4000},
		{map[string]any{"reasoning": nil, "temperature": 1.0}, `{"max_tokens":9,"messages":[{"role":"user","content":"hi"}],"model":"m","reasoning":null,"temperature":1}`, 9},
	} {
		r, err := c.request(Prompt{Turns: say("hi"), Fields: one.fields}, 0)
		if err != nil || string(r.body) != one.want || r.most != one.most {
			t.Errorf("%v: %s, at most %d tokens, %v", one.fields, r.body, r.most, err)
		}
		keys[r.key] = true
	}
	if len(keys) != 4 {
		t.Errorf("%d keys for 4 requests", len(keys))
	}
}

// The names of price files are names of the same prices here, and answers are the same ones.
func TestTwoNamesOfPrices(t *testing.T) {
	open := func(price map[string]any) *endpoint {
		set := map[string]any{"base_url": "http://127.0.0.1:1/v1", "model": "m", "price": price}
		m, err := newEndpointChat(t.Context(), chatSetup(t, 0), set)
		if err != nil {
			t.Fatal(price, err)
		}
		return m.(*endpoint)
	}
	a, b := open(map[string]any{"prompt": 2, "completion": 3}), open(map[string]any{"in": 2, "out": 3})
	if got := b.cfg.Price.of(1e6, 2e6); got != 8 || a.cfg.Price.of(1e6, 2e6) != 8 || !reflect.DeepEqual(a.cfg.identity(), b.cfg.identity()) {
		t.Errorf("%v: %+v and %+v", got, a.cfg.identity(), b.cfg.identity())
	}
	if got := open(map[string]any{"out": 3}).cfg.Price.of(1e6, 2e6); got != 6 {
		t.Error(got)
	}
}

func TestBadEndpointSettings(t *testing.T) {
	ok := map[string]any{"base_url": "http://127.0.0.1:1/v1", "model": "m"}
	for _, c := range []struct {
		set    map[string]any
		budget float64
		want   string
	}{
		{map[string]any{"base_url": ""}, 0, "base_url is not set"},
		{map[string]any{"base_url": "api.example.org/v1"}, 0, "base_url is not a URL"},
		{map[string]any{"base_url": "http://u:" + servicetest.Key + "@host/v1"}, 0, "more than scheme, host and path"},
		{map[string]any{"base_url": "http://host/v1?key=" + servicetest.Key}, 0, "base_url has a query after the ?: write it into the setting query"},
		{map[string]any{"query": map[string]any{"api-key": servicetest.Key}}, 0, "query: api-key cannot be set here"},
		{map[string]any{"base_url": "http://host:" + servicetest.Key}, 0, "base_url is not a URL"},
		{map[string]any{"model": ""}, 0, "model: not set"},
		{map[string]any{"key": servicetest.Key}, 0, "key is not the name of an environment variable"},
		{map[string]any{"key": "gsk_" + strings.Repeat("a", 30)}, 0, "key is not the name"},
		{map[string]any{"key": strings.Repeat("A1", 20)}, 0, "key is not the name"},
		{map[string]any{"api_key": "X"}, 0, `unknown key "api_key"`},
		{map[string]any{"extra": map[string]any{"stream": true}}, 0, "extra: stream cannot be set here"},
		{map[string]any{"timeout": 0}, 0, "timeout is 0"},
		{map[string]any{"concurrency": 0}, 0, "concurrency is 0"},
		{map[string]any{"retries": -1}, 0, "retries is -1"},
		{map[string]any{"requests_per_second": -1}, 0, "requests_per_second is -1"},
		{map[string]any{"tokens_per_minute": 30}, 0, "not 60 to"},
		{map[string]any{"max_tokens": 0}, 0, "max_tokens is 0"},
		{map[string]any{"price": map[string]any{"prompt": -1}}, 0, "it must be 0 to"},
		{map[string]any{"price": map[string]any{"completion": 1e308}}, 0, "price: 1e+308"},
		{map[string]any{"price": map[string]any{"out": 1e308}}, 0, "price: 1e+308"},
		{map[string]any{"price": map[string]any{"in": 0, "completion": 1}}, 0, "price: prompt and completion are other names of in and out"},
		{map[string]any{"fee_scale": 1e300}, 0, "fee_scale is 1e+300"},
		{map[string]any{"timeout": 1e300}, 0, "timeout is 1e+300"},
		{map[string]any{"backoff": 1e18}, 0, "backoff is 1e+18"},
		{map[string]any{"concurrency": 1 << 40}, 0, "concurrency is 1.099511627776e+12"},
		{map[string]any{"retries": 1 << 40}, 0, "retries is 1099511627776"},
		{map[string]any{"requests_per_second": 1e-300}, 0, "requests_per_second is 1e-300"},
		{map[string]any{"tokens_per_minute": 1e300}, 0, "tokens_per_minute is 1e+300"},
		{map[string]any{"max_tokens": math.MaxInt64}, 0, "max_tokens is 9223372036854775807"},
		{map[string]any{"ca_file": "no/such.pem"}, 0, "ca_file: "},
		{map[string]any{}, 1, "price: not set"},
		{map[string]any{"max_tokens": nil}, 1, "max_tokens: not set"},
	} {
		set := map[string]any{}
		for _, m := range []map[string]any{ok, c.set} {
			for k, v := range m {
				set[k] = v
			}
		}
		_, err := newEndpointChat(t.Context(), chatSetup(t, c.budget), set)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), servicetest.Key) {
			t.Errorf("%v: got %v, want %q", c.set, err, c.want)
		}
	}
	chat := newChat(t, chatSetup(t, 0), map[string]any{"base_url": "http://127.0.0.1:1/v1", "model": "m", "key": "PIPE_TEST_NO_SUCH_KEY"})
	_, err := chat.Complete(t.Context(), []language.Conversation{say("x")})
	if err == nil || !strings.Contains(err.Error(), "the environment variable PIPE_TEST_NO_SUCH_KEY is empty") {
		t.Errorf("no key: %v", err)
	}
	t.Setenv("PIPE_TEST_TWO_LINES", "first-"+servicetest.Key+"\nsecond")
	chat = newChat(t, chatSetup(t, 0), map[string]any{"base_url": "http://127.0.0.1:1/v1", "model": "m", "key": "PIPE_TEST_TWO_LINES"})
	_, err = chat.Complete(t.Context(), []language.Conversation{say("x")})
	if err == nil || !strings.Contains(err.Error(), "PIPE_TEST_TWO_LINES holds several lines") || strings.Contains(err.Error(), "attempts") || strings.Contains(err.Error(), servicetest.Key) {
		t.Errorf("a key of two lines: %v", err)
	}
}

// FuzzTokens checks that counts are what a service can count.
func FuzzTokens(f *testing.F) {
	for _, text := range []string{`{"prompt_tokens":1e18,"completion_tokens":2}`, `{"prompt_tokens":100.0,"completion_tokens":0}`, `{}`, `[]`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, usage []byte) {
		u := prices.ReadStated(usage, maxTokens)
		if u.Known && (u.In <= 0 || u.Out < 0 || u.Cached < 0 || u.Cached > u.In) || !u.Known && u.Tokens != (prices.Tokens{}) {
			t.Errorf("%q: %+v", usage, u)
		}
	})
}

// FuzzResponse checks that no response is a panic, and that none brings the key
// in.
func FuzzResponse(f *testing.F) {
	for _, text := range []string{
		`{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
		`{"choices":[{"message":null}]}`, `{"choices":[null],"usage":{"prompt_tokens":-1}}`, half, "<html>", "[]", "null", "\xff",
		`{"choices":[{"message":{"content":"` + servicetest.Key + `"}}]}`,
	} {
		f.Add([]byte(text))
	}
	e := &endpoint{cfg: DefaultEndpointSettings()}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := e.read(servicetest.Key, say("x"), text)
		if strings.Contains(strings.ToLower(fmt.Sprint(a.Text, err)), strings.ToLower(servicetest.Key)) {
			t.Error("the key is shown")
		}
		if err == nil && (a.PromptTokens < 0 || a.CompletionTokens < 0 || a.PromptTokens+a.CompletionTokens <= 0 || !a.Estimated && max(a.PromptTokens, a.CompletionTokens) > maxTokens) {
			t.Errorf("tokens %+v", a)
		}
	})
}
