package chat

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/chat/chattest"
	"pipe/experts/language"
	"pipe/experts/service"
	"pipe/experts/service/servicetest"
)

// usage answers with a count of tokens as a service may write it.
func usage(text string) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprintf(w, `{"choices":[{"message":{"content":"SUPPORTS"}}],"usage":%s}`, text)
		return true
	}
}

// Counts of tokens that cannot be are none: where there is a price, the build ends.
func TestTokensThatCannotBe(t *testing.T) {
	for text, want := range map[string][2]int{
		`{"prompt_tokens":3,"completion_tokens":2}`:                                                                       {3, 2},
		`{"prompt_tokens":3.0,"completion_tokens":2e0}`:                                                                   {3, 2},
		`{"prompt_tokens":1000000000,"completion_tokens":1}`:                                                              {1e9, 1},
		`{"prompt_tokens":1000000000,"completion_tokens":0}`:                                                              {}, // the answer is not empty
		`{"prompt_tokens":30,"completion_tokens":2,"total_tokens":40}`:                                                    {},
		`{"prompt_tokens":30,"completion_tokens":2,"total_tokens":40,"completion_tokens_details":{"reasoning_tokens":8}}`: {30, 10},
		`{"prompt_tokens":1000000001,"completion_tokens":0}`:                                                              {},
		`{"prompt_tokens":1000000000000000000,"completion_tokens":9000000000000000000}`:                                   {},
		`{"prompt_tokens":18446744073709551616,"completion_tokens":1}`:                                                    {},
		`{"prompt_tokens":1e18,"completion_tokens":1}`:                                                                    {},
		`{"prompt_tokens":1e400,"completion_tokens":1}`:                                                                   {},
		`{"prompt_tokens":-1,"completion_tokens":5}`:                                                                      {},
		`{"prompt_tokens":1.5,"completion_tokens":5}`:                                                                     {},
		`{"prompt_tokens":"12","completion_tokens":5}`:                                                                    {},
		`{"prompt_tokens":null,"completion_tokens":5}`:                                                                    {},
		`{"prompt_tokens":12}`:                                                                                            {},
		`{"prompt_tokens":[1],"completion_tokens":{}}`:                                                                    {},
		`{"prompt_tokens":0,"completion_tokens":0}`:                                                                       {},
		`[]`: {}, `"12"`: {}, `null`: {}, `7`: {}, `true`: {},
	} {
		t.Run(text, func(t *testing.T) {
			server := chattest.NewServer(t)
			server.Fault = usage(text)
			s := chatSetup(t, 0)
			c := newChat(t, s, server.Settings(map[string]any{"price": map[string]any{"prompt": 1e6, "completion": 1e6}, "tokens_per_minute": 6e5}))
			begin := time.Now()
			got, err := c.Complete(t.Context(), many(1))
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			var fault *service.Error
			switch counted := want[0] + want[1]; {
			case counted > 0 && (err != nil || got[0].Fee != float64(counted)):
				t.Errorf("got %+v, %v", got, err)
			case counted == 0 && (!errors.As(err, &fault) || !strings.Contains(err.Error(), "has no token counts")):
				t.Errorf("got %+v, %v", got, err)
			}
			if n := server.Requests(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// An answer says what its call used, as its service stated it, also when it was kept; what is not stated is not known, and estimates
// count where the settings say so.
func TestUsageOfAnswers(t *testing.T) {
	nan := float32(math.NaN())
	for text, want := range map[string][2]part.Usage{ // with estimate_tokens, and without
		`{"prompt_tokens":30,"completion_tokens":2}`:                                              {{30, nan, 2, 1, nan}, {30, nan, 2, 1, nan}},
		`{"prompt_tokens":30,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":20}}`: {{30, 20, 2, 1, nan}, {30, 20, 2, 1, nan}},
		`{"prompt_tokens":30,"completion_tokens":2,"cached_tokens":0}`:                            {{30, 0, 2, 1, nan}, {30, 0, 2, 1, nan}},
		`null`: {{3, nan, 3, 1, nan}, {nan, nan, nan, 1, nan}},
	} {
		for i, estimate := range []bool{true, false} {
			server := chattest.NewServer(t)
			server.Fault = usage(text)
			c := newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"estimate_tokens": estimate}))
			for range 2 {
				got, err := c.Complete(t.Context(), many(1))
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(got[0].Used) != fmt.Sprint(want[i]) {
					t.Errorf("%s, estimates %t: %v, want %v", text, estimate, got[0].Used, want[i])
				}
			}
			if server.Requests() != 1 {
				t.Errorf("%d requests", server.Requests())
			}
		}
	}
}

// Whatever a service counts and whatever it costs, fees are finite, and a budget
// ends the run.
func TestMoneyStaysFinite(t *testing.T) {
	for _, limit := range []float64{5e-324, 1e-300, 1, math.MaxFloat64} {
		server := chattest.NewServer(t)
		server.Fault = usage(`{"prompt_tokens":1000000000,"completion_tokens":1000000000}`)
		s := chatSetup(t, limit)
		c := newChat(t, s, server.Settings(map[string]any{
			"price": map[string]any{"prompt": mostMoney, "completion": mostMoney}, "fee_scale": mostMoney, "max_tokens": maxTokens,
		}))
		got, err := c.Complete(t.Context(), many(3))
		var over *BudgetError
		if limit < 1e300 != errors.As(err, &over) {
			t.Errorf("budget %v: %v", limit, err)
		}
		for _, a := range got {
			if f := float32(a.Fee); f-f != 0 {
				t.Errorf("budget %v: a fee of %v", limit, a.Fee)
			}
		}
		if spent := session(t, s).money.spent; spent-spent != 0 || spent < 0 {
			t.Errorf("budget %v: spent %v", limit, spent)
		}
	}
}

// What a service sends without end, or much larger than it looks, is bounded in
// time and memory.
func TestEndlessResponses(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request, piece string, wait time.Duration) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(wait)
		}
	}
	long := strings.Repeat(" ", 1<<16)
	for name, c := range map[string]struct {
		fault http.HandlerFunc
		want  string
	}{
		"no end": {func(w http.ResponseWriter, r *http.Request) { endless(w, r, long, 0) }, "longer than 8 MiB"},
		"no end of an error": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			endless(w, r, "x"+long, 0)
		}, "HTTP 400"},
		"drops": {func(w http.ResponseWriter, r *http.Request) { endless(w, r, " ", 20*time.Millisecond) }, "not complete after 0.5 s"},
		"a bomb": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1 << 14 { // a GiB
				if _, err := io.WriteString(z, long); err != nil {
					return
				}
			}
			z.Close()
		}, "longer than 8 MiB"},
		"no gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "this is plain text")
		}, "gzip: invalid header"},
		"deep": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"choices":`+strings.Repeat("[", 1<<20))
		}, "not a chat completion"},
		"headers without end": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
		}, "server response headers exceeded"},
		"another type": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			io.WriteString(w, "\x89PNG\r\n\x1a\n")
		}, "not a chat completion"},
		"NaN": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"choices":[{"message":{"content":NaN}}]}`)
		}, "not a chat completion"},
		"a list": {func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"choices":[{"message":{"content":["a"]}}]}`)
		}, "not a chat completion"},
		"no content":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "HTTP 204"},
		"not for now": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(299) }, "HTTP 299"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := chattest.NewServer(t)
			server.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { c.fault(w, r); return true }
			chat := newChat(t, chatSetup(t, 0), server.Settings(map[string]any{"timeout": map[bool]float64{true: 0.5, false: 60}[name == "drops"], "retries": 1}))
			_, err := chat.Complete(t.Context(), []language.Conversation{say("x")})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A certificate that this machine does not know is an error at once, which names
// the setting by which it is trusted; with it, requests go through.
func TestSelfSignedCertificates(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server, certificate, protocol := servicetest.TLS(t, http2, func(w http.ResponseWriter, _ *http.Request) { chattest.WriteAnswer(w, "SUPPORTS", 3, 2) })
		set := map[string]any{"base_url": server.URL + "/v1", "model": "m", "backoff": 0.001}
		_, err := newChat(t, chatSetup(t, 0), set).Complete(t.Context(), many(1))
		var fault *service.Error
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), "certificate") || !strings.Contains(fault.Hint(), "ca_file") || fault.Tries > 1 {
			t.Errorf("got %v (hint %q)", err, fault.Hint())
		}
		set["ca_file"] = certificate
		if got, err := newChat(t, chatSetup(t, 0), set).Complete(t.Context(), many(1)); err != nil || got[0].Text != "SUPPORTS" {
			t.Errorf("with ca_file: %v, %v", got, err)
		}
		if want := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[http2]; protocol() != want {
			t.Errorf("asked by %s, want %s", protocol(), want)
		}
		set["base_url"] = strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/v1"
		_, err = newChat(t, chatSetup(t, 0), set).Complete(t.Context(), many(1))
		if !errors.As(err, &fault) || !strings.Contains(fault.Hint(), "is for another name") {
			t.Errorf("another name: %v", err)
		}
	}
	plain := chattest.NewServer(t)
	_, err := newChat(t, chatSetup(t, 0), plain.Settings(map[string]any{"base_url": strings.Replace(plain.Base(), "http:", "https:", 1)})).Complete(t.Context(), many(1))
	var fault *service.Error
	if !errors.As(err, &fault) || !strings.Contains(fault.Hint(), "http://") || fault.Tries > 1 {
		t.Errorf("https of a service without TLS: %v", err)
	}
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("-----BEGIN PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newEndpointChat(t.Context(), chatSetup(t, 0), plain.Settings(map[string]any{"ca_file": empty})); err == nil || !strings.Contains(err.Error(), "no certificate in PEM form") {
		t.Errorf("a file without a certificate: %v", err)
	}
}

// No file that a build leaves, and no error, has the key in any spelling that a
// service gives it back in.
func TestEchoedKeysAreInNoFile(t *testing.T) {
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	for name, spell := range servicetest.Spellings {
		if strings.HasPrefix(name, "its ") {
			continue // half a key is hidden in errors, not in answers
		}
		server := chattest.NewServer(t)
		server.Answer = func(string) string { return "SUPPORTS " + spell(servicetest.Key) }
		s := chatSetup(t, 0)
		c := newChat(t, s, server.Settings(map[string]any{"key": servicetest.KeyVariable}))
		got, err := c.Complete(t.Context(), many(2))
		if err != nil || !strings.HasPrefix(got[0].Text, "SUPPORTS ") || !strings.Contains(got[0].Text, "[key]") {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		kept := readText(t, filepath.Join(session(t, s).store.folder, AnswersFile))
		server.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, spell("Bearer "+servicetest.Key))
			return true
		}
		_, err = c.Complete(t.Context(), []language.Conversation{say("another")})
		for what, text := range map[string]string{"the file of answers": kept, "the error": fmt.Sprintf("%v %#v", err, err)} {
			if shown := strings.Join(strings.Fields(text), ""); strings.Contains(strings.ToLower(shown), strings.ToLower(servicetest.Key)) || strings.Contains(shown, strings.Join(strings.Fields(spell(servicetest.Key)), "")) {
				t.Errorf("%s: %s has the key: %s", name, what, text)
			}
		}
	}
}

// notes collects what a build says to its user.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// A retry that waits is said, once for all requests that wait at the same time.
func TestWaitsAreSaid(t *testing.T) {
	server := chattest.NewServer(t)
	server.Fault = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n < 20 {
			servicetest.Status(http.StatusTooManyRequests, "Retry-After", "1")(w, r)
		}
		return n < 20
	}
	var said notes
	s := chatSetupSaying(t, 0, said.note)
	c := newChat(t, s, server.Settings(map[string]any{"concurrency": 20, "retries": 5}))
	if _, err := c.Complete(t.Context(), many(30)); err != nil {
		t.Fatal(err)
	}
	if want := "service " + server.Base() + "/chat/completions: HTTP 429, waiting 1 s (attempt 2 of 6)"; len(said.lines) != 1 || said.lines[0] != want {
		t.Errorf("said %q, want %q alone", said.lines, want)
	}
}

// Times that answers were kept at mean nothing to who uses them.
func TestClocksThatJump(t *testing.T) {
	folder := t.TempDir()
	s := newAnswerStore(folder)
	for i, at := range []time.Time{{}, time.Now().AddDate(1000, 0, 0), time.Now().AddDate(-1000, 0, 0)} {
		request := fmt.Sprint("r", i)
		if _, _, err := s.once(t.Context(), request, func() (answer, error) { return answer{Request: request, Text: "kept", Time: at}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := reread(folder, 3); err != nil || strings.Join(got, " ") != "kept kept kept" {
		t.Errorf("%q, %v", got, err)
	}
}

// Kept counts that no service can have are damage.
func TestKeptTokensThatCannotBe(t *testing.T) {
	for _, tokens := range []int{-1, maxTokens + 1, math.MaxInt64} {
		line, err := answer{Request: "r", PromptTokens: tokens}.line()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAnswer(line); err == nil {
			t.Errorf("%d tokens are read", tokens)
		}
	}
}
