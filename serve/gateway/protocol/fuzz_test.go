package protocol

import (
	"encoding/json"
	"strings"
	"testing"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// FuzzRequest: whatever a caller sends is refused, or written in every other protocol as JSON, or refused by name.
func FuzzRequest(f *testing.F) {
	for name, list := range examples {
		for _, e := range list {
			f.Add(name, `{"model":"p",`+e.fields+`}`)
		}
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		for _, caller := range callers {
			if caller.Name() != name {
				continue
			}
			in, err := caller.ReadRequest([]byte(text))
			if err != nil {
				return
			}
			in.ToolLoopOpen()
			ChatMessages(in)
			for _, at := range []chatjson.Position{chatjson.First, chatjson.BeforeLast, chatjson.Last} {
				for _, role := range []string{middle.User, middle.System} {
					add := &chatjson.Addition{Role: role, Text: "found\n\"", At: at}
					if out := in.With(chatjson.Change{Model: "m", Add: add}); !json.Valid(out) {
						t.Fatalf("%s", out)
					}
					for _, k := range kinds {
						if out, _, err := k.Translate(in, add, Target{Model: "m"}); err == nil && !json.Valid(out) {
							t.Fatalf("%s: %s", k.Name, out)
						}
					}
				}
			}
			if caller == Responses {
				if _, err := in.After(in.Items()); err != nil {
					t.Fatalf("%s goes on as %v", text, err)
				}
			}
		}
	})
}

// streams are the beginnings of streams, for the fuzzers.
var streams = []string{
	"data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\",\"reasoning_content\":\"b\",\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"a\"}}\n\ndata: {\"type\":\"content_block_stop\"}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
	"data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"m\"}}\n\ndata: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"\"}}\n\ndata: {\"type\":\"response.function_call_arguments.delta\",\"delta\":\"{}\"}\n\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"a\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
}

// FuzzStream: whatever a service sends as a stream or as an answer is translated for every caller, or refused.
func FuzzStream(f *testing.F) {
	for _, s := range streams {
		f.Add(s)
	}
	f.Add(`{"id":"m","type":"message","content":[{"type":"text","text":"a"}]}`)
	f.Add(`{"id":"r","output":[{"type":"reasoning","summary":[]}],"status":"completed"}`)
	f.Add(`{"id":"c","choices":[{"message":{"content":[{"type":"text","text":"a"}]},"finish_reason":"length"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range kinds {
			if a, err := ReadFacts(k.Format, []byte(text)); err == nil && (a.Usage.In < 0 || a.Usage.Out < 0) {
				t.Fatalf("%+v", a)
			}
			for _, caller := range translated {
				to := &Incoming{Format: caller, object: emptyObject(t)}
				if out, err := k.TranslateAnswer([]byte(text), to); err == nil && !json.Valid(out) {
					t.Fatalf("%s to %s: %s", k.Name, caller.Name(), out)
				}
				translate(k.TranslateStream(to), text)
			}
		}
	})
}

// emptyObject is an object without fields.
func emptyObject(t *testing.T) *jsonedit.Object {
	t.Helper()
	o, err := jsonedit.Parse([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// translate translates a stream as far as that is possible.
func translate(s *Stream, text string) {
	in := sse.NewReader(strings.NewReader(text), 1<<20)
	for {
		e, err := in.Next()
		if err != nil {
			_, _ = s.End() // an error is one of the results
			return
		}
		if _, err := s.Event(e); err != nil {
			return
		}
	}
}
