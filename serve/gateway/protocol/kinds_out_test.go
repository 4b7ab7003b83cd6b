package protocol_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/sse"
)

// dialog is a conversation with a picture, calls of tools, their results, and what the answer may look like.
const dialog = `{"model":"p","max_tokens":50,"temperature":0.5,"stop":["END"],
"tools":[{"type":"function","function":{"name":"look_up","description":"Looks \"up\".","parameters":{"type":"object","properties":{"page":{"type":"string"}}}}},
{"type":"function","function":{"name":"count","parameters":{"type":"object"}}}],
"messages":[{"role":"system","content":"Be brief: 漢字 😀."},
{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"look_up","arguments":"{\"page\":\"Öl\"}"}},{"id":"c2","type":"function","function":{"name":"count","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"c1","content":"first"},{"role":"tool","tool_call_id":"c2","content":"second"},
{"role":"user","content":"%s"}],"stream":%v,"stream_options":{"include_usage":true}}`

// outKinds are the kinds of experts, the model that a fake service has, and an address.
var outKinds = map[string][2]string{
	"gemini": {"gemini-3.1-pro", "http://x/v1beta"}, "ollama": {"qwen3:8b", "http://x"}, "bedrock": {"anthropic.claude-9-v1:0", "http://x"},
	"azure": {"deployed", "http://x"}, "openai": {"m", "http://x/v1"},
}

// chatView is what a caller of chat completions sees.
type chatView struct {
	Choices []struct {
		Message struct {
			Content   string
			Reasoning string `json:"reasoning_content"`
			Calls     []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Usage struct {
		In  int `json:"prompt_tokens"`
		Out int `json:"completion_tokens"`
	}
}

// String is the view without ids, and with arguments in one form.
func (v chatView) String() string {
	m := v.Choices[0].Message
	out := fmt.Sprintf("%q %q %s %v", m.Reasoning, m.Content, v.Choices[0].Finish, v.Usage)
	for _, c := range m.Calls {
		var args any
		if c.ID == "" || json.Unmarshal([]byte(c.Function.Arguments), &args) != nil {
			return "a call without an id or arguments: " + c.Function.Arguments
		}
		out += fmt.Sprintf(" %s%v", c.Function.Name, args)
	}
	return out
}

// TestKindsCarryAll sends conversations through every kind to a fake service, and compares what the service read and what the
// caller sees with chat completions.
func TestKindsCarryAll(t *testing.T) {
	for name, where := range outKinds {
		for _, last := range []string{"hello", "think of it", "a tool", "a silent tool", "tools tools", "think, then a tool", "a long text"} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, last, stream), func(t *testing.T) { carry(t, name, where[0], where[1], fmt.Sprintf(dialog, last, stream)) })
			}
		}
	}
}

func carry(t *testing.T, name, model, base, text string) {
	kind, err := protocol.KindOf(name)
	if err != nil {
		t.Fatal(err)
	}
	in, err := protocol.Chat.ReadRequest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gatewaytest.Dialects["openai"].Read(request(t, "http://x/v1/chat/completions"), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	body, changed, err := kind.Translate(in, nil, protocol.Target{Model: model, Usage: true})
	if err != nil || len(changed) > 0 {
		t.Fatalf("changed %q, %v", changed, err)
	}
	url := kind.URL(base, model, protocol.Chat, in.Stream)
	if name == "azure" {
		url += "?api-version=1"
	}
	r := request(t, url)
	kind.Authorize(r.Header, "key")
	fake := gatewaytest.Dialects[name]
	seen, err := fake.Read(r, body)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	if seen.Digest() != plain.Digest() || seen.Stream != in.Stream {
		t.Errorf("%s\nthe service read %+v, of %+v", body, seen, plain)
	}
	said := gatewaytest.Answer(seen)
	want := view(t, gatewaytest.Dialects["openai"].Write(plain, said))
	var got chatView
	if !in.Stream {
		answer, err := kind.TranslateAnswer(fake.Write(seen, said), in)
		if err != nil {
			t.Fatal(err)
		}
		got = view(t, answer)
	} else {
		got = streamed(t, kind, in, strings.Join(fake.Event(seen, said), ""))
	}
	if got.String() != want.String() {
		t.Errorf("the caller sees\n%v, want\n%v", got, want)
	}
}

func request(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func view(t *testing.T, text []byte) (v chatView) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil || len(v.Choices) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// streamed joins the chunks of a translated stream.
func streamed(t *testing.T, kind *protocol.Kind, in *protocol.Incoming, stream string) (v chatView) {
	t.Helper()
	var out bytes.Buffer
	frames, translated := kind.Read(strings.NewReader(stream), 1<<20), kind.TranslateStream(in)
	for {
		e, err := frames.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := translated.Event(e)
		if err != nil {
			t.Fatalf("%s: %v", e.Data, err)
		}
		out.Write(b)
	}
	b, err := translated.End()
	if err != nil {
		t.Fatal(err)
	}
	out.Write(b)
	return joinChunks(t, out.String())
}

func joinChunks(t *testing.T, stream string) (v chatView) {
	t.Helper()
	v = view(t, []byte(`{"choices":[{}]}`))
	m := &v.Choices[0].Message
	frames := sse.NewReader(strings.NewReader(stream), 1<<20)
	for {
		e, err := frames.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("no [DONE] in\n%s", stream)
		}
		if string(e.Data) == "[DONE]" {
			return v
		}
		if !e.HasData {
			continue
		}
		var c struct {
			Choices []struct {
				Delta json.RawMessage
				End   *string `json:"finish_reason"`
			}
			Usage json.RawMessage
		}
		if err := json.Unmarshal(e.Data, &c); err != nil {
			t.Fatal(err)
		}
		if len(c.Usage) > 0 {
			_ = json.Unmarshal(c.Usage, &v.Usage)
		}
		for _, choice := range c.Choices {
			if choice.End != nil {
				v.Choices[0].Finish = *choice.End
			}
			var d struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
				Calls     []struct {
					Index    int
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			if err := json.Unmarshal(choice.Delta, &d); err != nil {
				t.Fatal(err)
			}
			m.Content, m.Reasoning = m.Content+d.Content, m.Reasoning+d.Reasoning
			for _, call := range d.Calls {
				if call.Index == len(m.Calls) {
					m.Calls = append(m.Calls, struct {
						ID       string
						Function struct{ Name, Arguments string }
					}{ID: call.ID})
				}
				f := &m.Calls[call.Index].Function
				f.Name, f.Arguments = f.Name+call.Function.Name, f.Arguments+call.Function.Arguments
			}
		}
	}
}
