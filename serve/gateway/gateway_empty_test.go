package gateway

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pipe/serve/access"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/protocol"
)

// stated is a usage without content: 1,000 tokens of a prompt and 8 of reasoning, which cost 0.00108 here.
const stated = `{"prompt_tokens":1000,"completion_tokens":8,"total_tokens":1008}`

// noContent is an answer without content, whole or as a stream.
func noContent(model, reason string, stream bool) string {
	if stream {
		return gatewaytest.Chunk(model, "", "null") + gatewaytest.Chunk(model, "", `"`+reason+`"`) +
			fmt.Sprintf("data: {\"model\":%q,\"choices\":[],\"usage\":%s}\r\n\r\n", model, stated) + "data: [DONE]\r\n\r\n"
	}
	return fmt.Sprintf(`{"model":%q,"choices":[{"message":{"role":"assistant","content":""},"finish_reason":%q}],"usage":%s}`, model, reason, stated)
}

// empties makes a service answer without content.
func empties(model, reason string, stream bool) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		if stream {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		io.WriteString(w, noContent(model, reason, stream))
		return true
	}
}

// ask sends a request of a caller whose key is counted, and returns what the caller has spent since the start.
func (w *world) ask(t *testing.T, body string) (*httptest.ResponseRecorder, access.Spent) {
	t.Helper()
	keys, err := access.New(access.Settings{Keys: []access.Key{{Name: "me", Key: "caller-key-0123456789abcdef"}}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := keys.Admit("caller-key-0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	out := httptest.NewRecorder()
	w.api.answer(protocol.Chat)(out, r.WithContext(access.With(r.Context(), caller)))
	return out, caller.Spent()
}

// An answer without content that a limit or a filter cut may be the caller's doing. It opens no breaker, another expert may
// answer, and else it reaches the caller as it came.
func TestAnswersCutByTheirCaller(t *testing.T) {
	for name, c := range map[string]struct {
		reason       string
		large        string // what the other expert does: works, empty, down or refuses
		status       int
		by, attempts string
		before       string
		tokens       int64
	}{
		"a limit, another works":      {"length", "works", 200, "large", "1:200 3:200", "1", 1008 + 1100},
		"a filter, another works":     {"content_filter", "works", 200, "large", "1:200 3:200", "1", 1008 + 1100},
		"a limit of both":             {"length", "empty", 200, "large", "1:200 3:200", "1", 2 * 1008},
		"a limit, another is down":    {"length", "down", 200, "small", "1:200 3:503", "", 1008},
		"a filter, another refuses":   {"content_filter", "refuses", 200, "small", "1:200 3:400", "", 1008},
		"a model that says nothing":   {"stop", "works", 200, "large", "1:0 3:200", "1", 1008 + 1100},
		"no model says anything":      {"stop", "silent", 502, "", "1:0 3:0", "", 2 * 1008},
		"nothing, then a limit of it": {"stop", "empty", 200, "large", "1:0 3:200", "1", 2 * 1008},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(name, stream), func(t *testing.T) {
				w := newWorld(t, func(s *Settings) { s.Breaker.Failures = 1 })
				w.small.Fault = empties("model-s", c.reason, stream)
				w.large.Fault = map[string]func(int, http.ResponseWriter, *http.Request) bool{
					"empty": empties("model-l", "length", stream), "silent": empties("model-l", "stop", stream), "down": fault(503), "refuses": says(400, tooLong),
				}[c.large]
				body := question + `,"stream_options":{"include_usage":true}` + fmt.Sprintf(`,"stream":%v}`, stream)
				out, spent := w.ask(t, body)
				if h := out.Header(); out.Code != c.status || h.Get("X-Pipe-Expert") != c.by || h.Get("X-Pipe-Fallbacks") != c.before {
					t.Errorf("%d by %s after %q: %s", out.Code, h.Get("X-Pipe-Expert"), h.Get("X-Pipe-Fallbacks"), out.Body)
				}
				empty := map[string]string{"small": noContent("model-s", c.reason, stream), "large": noContent("model-l", "length", stream)}[c.by]
				if c.large != "works" && out.Code == 200 && out.Body.String() != empty {
					t.Errorf("got %q, want %q", out.Body, empty)
				}
				if c.reason != "stop" && w.api.current.experts["small"].State() != expert.Closed {
					t.Error("the breaker of the first expert is open")
				}
				if spent.Tokens != c.tokens {
					t.Errorf("charged %d tokens, want %d", spent.Tokens, c.tokens)
				}
				w.checkEmpty(t, c.attempts, c.large != "works" && out.Code == 200)
			})
		}
	}
}

// checkEmpty checks the record of a request. passed tells that an answer without content went to the caller.
func (w *world) checkEmpty(t *testing.T, attempts string, passed bool) {
	t.Helper()
	rec := w.records(t)[0]
	var got []string
	for _, at := range rec.Attempts {
		got = append(got, fmt.Sprintf("%d:%d", at.Action, at.Status))
	}
	if strings.Join(got, " ") != attempts || passed && (rec.Error != "" || rec.Usage.Out != 8 || rec.Usage.CachedKnown || !rec.FeeKnown || rec.Executed < 0) {
		t.Errorf("%s: %+v", got, rec)
	}
}

// A caller cannot open a breaker for everybody, nor keep a broken expert's closed: such an answer is not counted.
func TestCutAnswersAreNotCounted(t *testing.T) {
	w := newWorld(t, func(s *Settings) { s.Breaker.Failures = 3 })
	byName := strings.Replace(question, "pipe", "small", 1) + `}`
	for i, f := range []func(int, http.ResponseWriter, *http.Request) bool{fault(500), fault(500), empties("model-s", "length", false)} {
		w.small.Fault = f
		if a := w.post(t, byName); (a.status == 200) != (i == 2) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if e := w.api.current.experts["small"]; e.FailuresInARow() != 2 || e.State() != expert.Closed {
		t.Errorf("%d failures in a row, %v", e.FailuresInARow(), e.State())
	}
}

// A failed answer that states a usage is paid: its caller is charged, and the expert's fees count it. The record's own fee is that
// of the pair that answered, and the attempt says what was charged.
func TestFailedAnswersAreCharged(t *testing.T) {
	failed := `{"error":{"message":"no"},"usage":` + stated + `}`
	for name, c := range map[string]struct {
		fields, model, answer string
		tokens                int64 // of the other expert too, where it answers
		other                 bool
	}{
		"without content":          {"", "pipe", noContent("model-s", "stop", false), 2108, true},
		"an error":                 {"", "pipe", failed, 2108, true},
		"a stream without content": {`,"stream":true`, "pipe", noContent("model-s", "stop", true), 2108, true},
		"an error in a stream":     {`,"stream":true`, "pipe", "data: " + failed + "\n\n", 2108, true},
		"by name":                  {"", "small", noContent("model-s", "stop", false), 1008, false},
		"no usage":                 {"", "pipe", `{"error":{"message":"no"}}`, 1100, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.small.Fault = func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
				if c.fields != "" {
					rw.Header().Set("Content-Type", "text/event-stream")
				}
				io.WriteString(rw, c.answer)
				return true
			}
			out, spent := w.ask(t, strings.Replace(question, `"pipe"`, `"`+c.model+`"`, 1)+c.fields+`}`)
			const small, large = 0.00108, 0.002
			money, isPaid := 0.0, c.tokens != 1100
			want := "# HELP pipe_fees_total Money of answers by the usage that the service returned and the configured prices.\n# TYPE pipe_fees_total counter\n"
			if c.other {
				money, want = large, want+"pipe_fees_total{expert=\"large\"} 0.002\n"
			}
			if isPaid {
				money, want = money+small, want+"pipe_fees_total{expert=\"small\"} 0.00108\n"
			}
			if spent.Tokens != c.tokens || math.Abs(spent.Money-money) > 1e-12 || (out.Code == 200) != c.other {
				t.Errorf("%d, spent %+v, want %d and %v", out.Code, spent, c.tokens, money)
			}
			if err := testutil.GatherAndCompare(w.registry, strings.NewReader(want), "pipe_fees_total"); err != nil {
				t.Error(err)
			}
			if !c.other {
				return
			}
			rec := w.records(t)[0]
			if paid := "; charged: 1000 tokens of the prompt, 8 of the completion"; rec.Fee != large || strings.HasSuffix(rec.Attempts[0].Error, paid) != isPaid {
				t.Errorf("%+v", rec)
			}
		})
	}
}
