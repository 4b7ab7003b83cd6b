package protocol

import (
	"strings"
	"testing"

	"pipe/serve/gateway/protocol/middle"
)

// TestChatThroughTheMiddle: a request goes through the middle form and back.
func TestChatThroughTheMiddle(t *testing.T) {
	in, err := Chat.ReadRequest([]byte(`{"model":"p","temperature":1.50,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"7"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, changed, err := OpenAI.Translate(in, nil, Target{Model: "m"})
	want := `{"messages":[{"content":[{"text":"a","type":"text"},{"image_url":{"url":"data:image/png;base64,AAAA"},"type":"image_url"}],"role":"user"},` +
		`{"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"x\":1}","name":"f"},"id":"c","type":"function"}]},{"content":"7","role":"tool","tool_call_id":"c"}],"model":"m","temperature":1.50}`
	if err != nil || len(changed) > 0 || string(body) != want {
		t.Errorf("%s\n%v %v", body, changed, err)
	}
	if !in.ToolLoopOpen() || !in.ToolsUsed() {
		t.Error("facts of the request")
	}
	in, _ = Chat.ReadRequest([]byte(`{"model":"p","logprobs":true,"messages":[{"role":"user","content":"a"}]}`))
	if _, _, err := OpenAI.Translate(in, nil, Target{}); err == nil || !strings.HasPrefix(err.Error(), "logprobs ") {
		t.Error(err)
	}
}

// TestEmptyContentBesideCalls: services write no text as null or as an empty text.
func TestEmptyContentBesideCalls(t *testing.T) {
	for _, content := range []string{`null`, `""`} {
		a, err := Chat.Read([]byte(`{"choices":[{"message":{"content":` + content + `,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`))
		if err != nil || len(a.Parts) != 1 || a.Parts[0].Kind != middle.Call {
			t.Errorf("%s: %+v, %v", content, a, err)
		}
	}
}

// TestHugeRequests: millions of messages, or of fields that nothing knows, take little memory.
func TestHugeRequests(t *testing.T) {
	for _, caller := range translated {
		list := map[string]string{"chat": "messages", "messages": "messages", "responses": "input"}[caller.Name()]
		in, err := caller.ReadRequest([]byte(`{"model":"m","` + list + `":[{` + strings.TrimSuffix(strings.Repeat(`},{`, 1<<20), ",{") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		m := in.Middle()
		if len(m.Messages) > maxElements || len(m.Malformed) != 1 || !strings.Contains(m.Malformed[0].Error(), "more than 100000 elements") {
			t.Errorf("%s: %d messages, %d problems, %v", caller.Name(), len(m.Messages), len(m.Malformed), m.Malformed[0])
		}
	}
}
