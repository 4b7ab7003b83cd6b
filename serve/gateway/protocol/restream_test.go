package protocol

import (
	"strings"
	"testing"
)

// A stream that is made of a whole answer has no citations: those of chat completions are left out, and an answer of another protocol
// with some has no stream.
func TestCitationsInStreams(t *testing.T) {
	for name, c := range map[string]struct {
		caller          Caller
		request, answer string
		fails           bool
	}{
		"chat": {
			Chat, `{"model":"m","stream":true,"messages":[{"role":"user","content":"a"}]}`,
			`{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"yes","annotations":[{"type":"url_citation","url_citation":{"url":"http://a"}}]},"finish_reason":"stop"}]}`, false,
		},
		"messages": {
			Messages, `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"a"}]}`,
			`{"type":"message","id":"m","model":"m","content":[{"type":"text","text":"yes","citations":[{"type":"char_location","cited_text":"a"}]}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, true,
		},
		"responses": {
			Responses, `{"model":"m","stream":true,"input":"a"}`,
			`{"object":"response","id":"r","model":"m","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes","annotations":[{"type":"url_citation","url":"http://a"}]}]}]}`, true,
		},
	} {
		r, err := c.caller.ReadRequest([]byte(c.request))
		if err != nil {
			t.Fatal(err)
		}
		stream, err := AsStream(r, []byte(c.answer))
		if (err != nil) != c.fails || !c.fails && (!strings.Contains(string(stream), "yes") || strings.Contains(string(stream), "citation")) {
			t.Errorf("%s: %v\n%s", name, err, stream)
		}
	}
}
