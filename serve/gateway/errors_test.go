package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Every error of the gateway's own is counted by the caller's protocol, the code and the field. Names that callers make up are one.
func TestErrorsAreCounted(t *testing.T) {
	w := newWorld(t, nil)
	w.post(t, `{"model":7,"messages":[]}`)
	w.post(t, `{"model":"pipe","messages":7}`)
	w.post(t, `{"model":"nobody","messages":[{"role":"user","content":"a"}]}`)
	w.post(t, question+`}`, "X-Pipe-Lambda", "a")
	w.postTo(t, "/v1/messages", `{"model":"pipe","max_tokens":9,"messages":[{"role":"nobody","content":"a"}]}`)
	w.postTo(t, "/v1/responses", `{"model":"pipe","input":"a","previous_response_id":"unknown"}`)
	for i := range 5 {
		w.postTo(t, "/v1/messages", fmt.Sprintf(`{"model":"pipe","max_tokens":9,"made_up_%d":1,"messages":[{"role":"user","content":"a"}]}`, i))
	}
	const want = `
# HELP pipe_chat_errors_total Requests that the gateway itself answered with an error, by the protocol of the caller, the code of the error and the field that it names.
# TYPE pipe_chat_errors_total counter
pipe_chat_errors_total{code="invalid_request",field="messages",protocol="chat"} 1
pipe_chat_errors_total{code="invalid_request",field="messages",protocol="messages"} 1
pipe_chat_errors_total{code="invalid_request",field="model",protocol="chat"} 1
pipe_chat_errors_total{code="invalid_request",field="x-pipe-lambda",protocol="chat"} 1
pipe_chat_errors_total{code="model_not_found",field="model",protocol="chat"} 1
pipe_chat_errors_total{code="previous_response_not_found",field="previous_response_id",protocol="responses"} 1
`
	if err := testutil.GatherAndCompare(w.registry, strings.NewReader(want), "pipe_chat_errors_total"); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{"messages.2.content": "messages", "tools[0].name": "tools", "made_up.x": "other", "": "", "X-Pipe-Deadline": "x-pipe-deadline"} {
		if got := fieldOf(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
