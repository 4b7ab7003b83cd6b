package protocol

import "testing"

func TestTextOf(t *testing.T) {
	chat := func(message string) string {
		return `{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":` + message + `}]}`
	}
	for _, c := range []struct {
		format     Format
		body, want string
	}{
		{Chat, chat(`{"role":"assistant","content":"yes"}`), "yes"},
		{Chat, chat(`{"role":"assistant","content":"yes","tool_calls":null,"refusal":null}`), "yes"},
		{Chat, chat(`{"role":"assistant","content":"yes","reasoning_content":"because"}`), "yes"},
		{Chat, chat(`{"role":"assistant","content":" "}`), ""},
		{Chat, chat(`{"role":"assistant","content":null,"refusal":"no"}`), ""},
		{Chat, chat(`{"role":"assistant","content":"x","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`), ""},
		{Chat, chat(`{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`), "ab"},
		{Chat, chat(`{"role":"assistant","content":[{"type":"image_url"}]}`), ""},
		{Chat, chat(`{"role":"assistant","content":7}`), ""},
		{Chat, `{"choices":[{"message":{"content":"a","tool_calls":[],"function_call":null}}]}`, "a"},
		{Chat, `{"choices":[]}`, ""},
		{Chat, `{"choices":[{"message":{"content":"a"}},{"message":{"content":"b"}}]}`, ""},
		{Chat, `no JSON`, ""},
		{Messages, `{"type":"message","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"yes"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`, "yes"},
		{Messages, `{"type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"1","name":"f","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`, ""},
		{Responses, `{"object":"response","model":"m","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes","annotations":[]}]}]}`, "yes"},
	} {
		text, ok := TextOf(c.format, []byte(c.body))
		if ok != (c.want != "") || ok && text != c.want {
			t.Errorf("%s %s: %q, %v", c.format.Name(), c.body, text, ok)
		}
	}
}
