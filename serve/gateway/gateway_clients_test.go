package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/judge"
	"pipe/serve/gateway/gatewaytest"
)

// scripted makes a service do what the last message of a request says. It counts the flaky ones.
func scripted(s *gatewaytest.Server) func(int, http.ResponseWriter, *http.Request) bool {
	flaky := 0
	return func(n int, w http.ResponseWriter, r *http.Request) bool {
		var q struct {
			Stream   bool
			Messages []struct{ Content string }
			Tools    []json.RawMessage
			Format   struct{ Type string } `json:"response_format"`
		}
		if err := json.Unmarshal(s.Requests()[n].Body, &q); err != nil || len(q.Messages) == 0 {
			return false
		}
		const call = `[{"index":0,"id":"call-1","type":"function","function":{"name":"look_up","arguments":"{\"page\":\"Oil\"}"}}]`
		switch what := q.Messages[len(q.Messages)-1].Content; {
		case what == "tool" && len(q.Tools) == 1 && !q.Stream:
			io.WriteString(w, `{"id":"c1","object":"chat.completion","created":1,"model":"model-s","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":`+call+`},"finish_reason":"tool_calls"}]}`)
		case what == "tool" && len(q.Tools) == 1:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"model-s\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":%s},\"finish_reason\":null}]}\n\n", call)
			io.WriteString(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"model-s\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
		case what == "json" && q.Format.Type == "json_schema":
			io.WriteString(w, gatewaytest.Completion("model-s", `{"label":"SUPPORTS","page":"Oil"}`))
		case what == "refuse":
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"temperature is too hot","type":"invalid_request_error","param":"temperature","code":null}}`)
		case what == "limit":
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		case what == "fail":
			w.WriteHeader(500)
		case what == "flaky":
			if flaky++; flaky > 1 {
				return false
			}
			w.WriteHeader(503)
		case what == "slow":
			select {
			case <-r.Context().Done():
			case <-time.After(5 * time.Second):
			}
		case what == "break":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, gatewaytest.Chunk("model-s", "half", "null"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}
}

// TestOfficialClients runs the scripts of tools/serve with curl and the packages openai for Python and node.
func TestOfficialClients(t *testing.T) {
	w := newWorld(t, func(s *Settings) {
		s.Breaker.Failures = 1000
		for name, e := range s.Experts {
			e.Timeouts.Answer, e.Timeouts.FirstByte = 5*time.Second, 5*time.Second
			s.Experts[name] = e
		}
	})
	w.small.SetFault(scripted(w.small))
	w.large.SetFault(scripted(w.large))
	base := w.URL + "/v1"
	tools, err := filepath.Abs("../../tools/serve")
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, want int, c *exec.Cmd) {
		t.Helper()
		out, err := c.CombinedOutput()
		if got := strings.Count(string(out), "ok "); err != nil || got != want {
			t.Errorf("%v: %d of %d parts, %v\n%s", c.Args, got, want, err, out)
		}
	}
	t.Run("curl", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip("there is no curl")
		}
		run(t, 3, exec.CommandContext(t.Context(), filepath.Join(tools, "curl_client.sh"), base))
	})
	t.Run("python", func(t *testing.T) {
		python := judge.Python(t, "openai")
		run(t, 9, exec.CommandContext(t.Context(), python, filepath.Join(tools, "openai_client.py"), base))
	})
	t.Run("node", func(t *testing.T) {
		run(t, 7, judge.Node(t, "openai", filepath.Join(tools, "openai_client.mjs"), base))
	})
}
