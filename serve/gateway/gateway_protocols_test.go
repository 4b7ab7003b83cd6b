package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pipe/serve/gateway/gatewaytest"
)

// protocolPaths are the paths of the protocols of callers.
var protocolPaths = map[string]string{"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}

// protocolKinds are kinds of experts by their protocol.
var protocolKinds = map[string]string{"chat": "openai", "messages": "anthropic", "responses": "responses"}

var protocolNames = []string{"chat", "messages", "responses"}

// newScriptedWorld is a gateway whose experts have a kind and one service that answers by a script.
func newScriptedWorld(t testing.TB, kind string) (*world, *gatewaytest.Scripted) {
	t.Helper()
	service := gatewaytest.NewScripted(t, gatewaytest.Script{Model: "model-l", Text: "It is a test."})
	t.Setenv("SCRIPTED_KEY", "key-of-the-service-123")
	w := newWorld(t, func(s *Settings) {
		delete(s.Advice, "search")
		s.Breaker.Failures = 1000
		for name, e := range s.Experts {
			e.Kind, e.BaseURL, e.Key, e.Served = kind, service.URL+"/v1", "SCRIPTED_KEY", []string{"*"}
			s.Experts[name] = e
		}
	})
	return w, service
}

// askIn sends a request in a protocol.
func (w *world) askIn(t testing.TB, protocol, body string, header ...string) answer {
	t.Helper()
	return w.postTo(t, protocolPaths[protocol], body, header...)
}

// told is what an answer says, whatever its protocol.
type told struct {
	reasoning, text, finish string
	calls                   []gatewaytest.ScriptCall
	in, cached, out         int64
	model                   string
}

// plainRequest is a request with a text, in each protocol.
func plainRequest(protocol, model string, stream bool) string {
	return map[string]string{
		"chat":      fmt.Sprintf(`{"model":%q,"stream":%v,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Is oil good?"}]}`, model, stream),
		"messages":  fmt.Sprintf(`{"model":%q,"stream":%v,"max_tokens":100,"messages":[{"role":"user","content":"Is oil good?"}]}`, model, stream),
		"responses": fmt.Sprintf(`{"model":%q,"stream":%v,"input":"Is oil good?"}`, model, stream),
	}[protocol]
}

// protocolScripts are answers of every kind.
var protocolScripts = map[string]gatewaytest.Script{
	"text":           {Model: "model-l", Text: "Olive oil <is> \"good\" é \n for you."},
	"reasoning":      {Model: "model-l", Reasoning: "Let me think.", Text: "Yes."},
	"call":           {Model: "model-l", Calls: []gatewaytest.ScriptCall{{ID: "call_1", Name: "look_up", Arguments: `{"page":"Oil","n":1.50}`}}},
	"text and calls": {Model: "model-l", Text: "I look.", Calls: []gatewaytest.ScriptCall{{ID: "call_1", Name: "a", Arguments: `{}`}, {ID: "call_2", Name: "b", Arguments: `{"x":[1]}`}}},
	"cut":            {Model: "model-l", Text: "It is", Cut: true},
}

// TestEveryPair: what a caller sees is what the service said, for each protocol of callers and of experts, whole and streamed.
// Between the same protocols the bytes are the service's.
func TestEveryPair(t *testing.T) {
	for _, service := range protocolNames {
		w, s := newScriptedWorld(t, protocolKinds[service])
		for _, caller := range protocolNames {
			for name, script := range protocolScripts {
				for _, stream := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s to %s, %s, stream %v", caller, service, name, stream), func(t *testing.T) {
						s.Set(script, nil)
						a := w.askIn(t, caller, plainRequest(caller, "pipe", stream))
						got := s.Requests()
						if a.status != 200 || len(got) != 1 {
							t.Fatalf("%d %s, %d requests", a.status, a.body, len(got))
						}
						if a.header.Get("X-Pipe-Expert") != "large" || a.header.Get("X-Pipe-Decision") == "" {
							t.Errorf("headers %v", a.header)
						}
						checkSent(t, service, &got[0])
						want := script.Whole(service)
						if stream {
							want = strings.Join(script.Stream(service, true), "")
						}
						if caller == service && a.body != want {
							t.Errorf("bytes differ:\n%s\n%s", a.body, want)
						}
						compareTold(t, script, read(t, caller, a, stream))
					})
				}
			}
		}
		for _, r := range w.records(t) { // fees are those of the usage, in every protocol
			if !r.FeeKnown || r.Usage.In != 1000 || r.Usage.Cached != 400 || r.Usage.Out != 100 || r.Fee != 0.002 {
				t.Fatalf("%s: usage %+v, fee %v %v", service, r.Usage, r.Fee, r.FeeKnown)
			}
		}
	}
}

// checkSent checks the path, the key and the model of a request.
func checkSent(t *testing.T, service string, r *gatewaytest.Request) {
	t.Helper()
	key := r.Header.Get("Authorization")
	if service == "messages" {
		key = "Bearer " + r.Header.Get("X-Api-Key")
		if r.Header.Get("Anthropic-Version") == "" || r.Header.Get("Authorization") != "" {
			t.Errorf("headers %v", r.Header)
		}
	}
	var body struct{ Model string }
	if err := json.Unmarshal(r.Body, &body); err != nil || body.Model != "model-l" || r.Header.Get("Path") != protocolPaths[service] || key != "Bearer key-of-the-service-123" {
		t.Errorf("%s %q %s", r.Header.Get("Path"), key, r.Body)
	}
}

func compareTold(t *testing.T, s gatewaytest.Script, got told) {
	t.Helper()
	finish := "stop"
	if len(s.Calls) > 0 {
		finish = "calls"
	}
	if s.Cut {
		finish = "cut"
	}
	if got.text != s.Text || got.reasoning != s.Reasoning || got.finish != finish || got.model != s.Model || !slices.Equal(got.calls, s.Calls) {
		t.Errorf("got %+v, want %+v", got, s)
	}
	if got.in != 1000 || got.cached != 400 || got.out != 100 {
		t.Errorf("usage %d %d %d", got.in, got.cached, got.out)
	}
}

// event is an event of a stream.
type event struct{ name, data string }

// eventsOf splits a stream.
func eventsOf(t *testing.T, body string) (all []event) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		var e event
		for line := range strings.Lines(block) {
			line = strings.TrimSuffix(line, "\n")
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				e.name = v
			} else if v, ok := strings.CutPrefix(line, "data: "); ok {
				e.data = v
			}
		}
		if e.data != "" {
			all = append(all, e)
		}
	}
	return all
}

// read reads an answer in a protocol.
func read(t *testing.T, protocol string, a answer, stream bool) told {
	t.Helper()
	switch {
	case protocol == "chat" && stream:
		return readChatStream(t, a.body)
	case protocol == "chat":
		return readChat(t, a.body)
	case protocol == "messages" && stream:
		return readMessagesStream(t, a.body)
	case protocol == "messages":
		return readMessages(t, a.body)
	case stream:
		return readResponseStream(t, a.body)
	}
	return readResponse(t, a.body)
}

func parse(t *testing.T, text string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

type chatAnswer struct {
	Model   string
	Choices []struct {
		Message, Delta struct {
			Content   *string
			Reasoning string `json:"reasoning_content"`
			Calls     []struct {
				Index    int
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish string `json:"finish_reason"`
	}
	Usage struct {
		In      int64 `json:"prompt_tokens"`
		Out     int64 `json:"completion_tokens"`
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
}

var chatEnds = map[string]string{"stop": "stop", "length": "cut", "tool_calls": "calls"}

func readChat(t *testing.T, body string) (g told) {
	t.Helper()
	var c chatAnswer
	parse(t, body, &c)
	m := c.Choices[0].Message
	if m.Content != nil {
		g.text = *m.Content
	}
	g.reasoning, g.finish, g.model = m.Reasoning, chatEnds[c.Choices[0].Finish], c.Model
	for _, call := range m.Calls {
		g.calls = append(g.calls, gatewaytest.ScriptCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
	}
	g.in, g.out, g.cached = c.Usage.In, c.Usage.Out, c.Usage.Details.Cached
	return g
}

func readChatStream(t *testing.T, body string) (g told) {
	t.Helper()
	all := eventsOf(t, body)
	if len(all) == 0 || all[len(all)-1].data != "[DONE]" {
		t.Fatalf("no end: %s", body)
	}
	for _, e := range all[:len(all)-1] {
		var c chatAnswer
		parse(t, e.data, &c)
		g.model = c.Model
		if c.Usage.In > 0 {
			g.in, g.out, g.cached = c.Usage.In, c.Usage.Out, c.Usage.Details.Cached
		}
		for _, choice := range c.Choices {
			if choice.Delta.Content != nil {
				g.text += *choice.Delta.Content
			}
			g.reasoning += choice.Delta.Reasoning
			if choice.Finish != "" {
				g.finish = chatEnds[choice.Finish]
			}
			for _, call := range choice.Delta.Calls {
				if call.Index == len(g.calls) {
					g.calls = append(g.calls, gatewaytest.ScriptCall{ID: call.ID, Name: call.Function.Name})
				}
				g.calls[call.Index].Arguments += call.Function.Arguments
			}
		}
	}
	return g
}

type messagesAnswer struct {
	Type, Model string
	Content     []struct {
		Type, Text, Thinking, Signature, ID, Name string
		Input                                     json.RawMessage
	}
	Stop  string `json:"stop_reason"`
	Usage struct {
		In     int64 `json:"input_tokens"`
		Out    int64 `json:"output_tokens"`
		Cached int64 `json:"cache_read_input_tokens"`
	}
}

var messagesEnds = map[string]string{"end_turn": "stop", "max_tokens": "cut", "tool_use": "calls"}

func readMessages(t *testing.T, body string) (g told) {
	t.Helper()
	var m messagesAnswer
	parse(t, body, &m)
	g.model, g.finish, g.in, g.cached, g.out = m.Model, messagesEnds[m.Stop], m.Usage.In+m.Usage.Cached, m.Usage.Cached, m.Usage.Out
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			g.text += b.Text
		case "thinking":
			g.reasoning += b.Thinking
			if b.Signature == "" {
				t.Error("no signature")
			}
		case "tool_use":
			g.calls = append(g.calls, gatewaytest.ScriptCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	return g
}

func readMessagesStream(t *testing.T, body string) (g told) {
	t.Helper()
	open, signed := "", true
	for i, e := range eventsOf(t, body) {
		var v struct {
			Type    string
			Message messagesAnswer
			Index   int
			Block   struct{ Type, ID, Name string } `json:"content_block"`
			Delta   struct {
				Type, Text, Thinking, Signature string
				JSON                            string `json:"partial_json"`
				Stop                            string `json:"stop_reason"`
			}
			Usage struct {
				In     *int64 `json:"input_tokens"`
				Out    int64  `json:"output_tokens"`
				Cached *int64 `json:"cache_read_input_tokens"`
			}
		}
		parse(t, e.data, &v)
		if v.Type != e.name || (i == 0) != (v.Type == "message_start") {
			t.Fatalf("event %d: %+v", i, e)
		}
		switch v.Type {
		case "message_start":
			g.model, g.in, g.cached = v.Message.Model, v.Message.Usage.In, v.Message.Usage.Cached
		case "content_block_start":
			open = v.Block.Type
			if open == "tool_use" {
				g.calls = append(g.calls, gatewaytest.ScriptCall{ID: v.Block.ID, Name: v.Block.Name})
			}
			signed = open != "thinking"
		case "content_block_delta":
			g.text += v.Delta.Text
			g.reasoning += v.Delta.Thinking
			signed = signed || v.Delta.Signature != ""
			if v.Delta.Type == "input_json_delta" {
				g.calls[len(g.calls)-1].Arguments += v.Delta.JSON
			}
		case "content_block_stop":
			if open == "" || !signed {
				t.Errorf("a block %q ends; signed %v", open, signed)
			}
			open = ""
		case "message_delta":
			g.finish, g.out = messagesEnds[v.Delta.Stop], v.Usage.Out
			if v.Usage.In != nil {
				g.in = *v.Usage.In
			}
			if v.Usage.Cached != nil {
				g.cached = *v.Usage.Cached
			}
		case "message_stop":
			g.in += g.cached
			return g
		}
	}
	t.Fatalf("no message_stop: %s", body)
	return g
}

type responseAnswer struct {
	ID, Model, Status string
	Output            []struct {
		Type, ID, Name, Arguments, Role string
		CallID                          string `json:"call_id"`
		Content, Summary                []struct{ Type, Text string }
	}
	Incomplete *struct{ Reason string } `json:"incomplete_details"`
	Usage      struct {
		In      int64 `json:"input_tokens"`
		Out     int64 `json:"output_tokens"`
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	}
}

func readResponse(t *testing.T, body string) (g told) {
	t.Helper()
	var r responseAnswer
	parse(t, body, &r)
	g.model, g.in, g.cached, g.out, g.finish = r.Model, r.Usage.In, r.Usage.Details.Cached, r.Usage.Out, "stop"
	for _, item := range r.Output {
		switch item.Type {
		case "message":
			g.text += item.Content[0].Text
		case "reasoning":
			g.reasoning += item.Summary[0].Text
		case "function_call":
			g.finish = "calls"
			g.calls = append(g.calls, gatewaytest.ScriptCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments})
		}
	}
	if r.Incomplete != nil && r.Status == "incomplete" {
		g.finish = "cut"
	} else if r.Status != "completed" {
		t.Errorf("status %s", r.Status)
	}
	return g
}

func readResponseStream(t *testing.T, body string) (g told) {
	t.Helper()
	deltas := map[string]string{}
	for i, e := range eventsOf(t, body) {
		var v struct {
			Type     string
			Number   int `json:"sequence_number"`
			Delta    string
			Response json.RawMessage
		}
		parse(t, e.data, &v)
		if v.Type != e.name || v.Number != i || (i == 0) != (v.Type == "response.created") {
			t.Fatalf("event %d: %+v", i, e)
		}
		deltas[v.Type] += v.Delta
		if v.Type == "response.completed" || v.Type == "response.incomplete" {
			g = readResponse(t, string(v.Response))
		}
	}
	arguments := ""
	for _, c := range g.calls {
		arguments += c.Arguments
	}
	if deltas["response.output_text.delta"] != g.text || deltas["response.function_call_arguments.delta"] != arguments || deltas["response.reasoning_summary_text.delta"] != g.reasoning {
		t.Errorf("deltas %v are not the response %+v", deltas, g)
	}
	return g
}

// postTo sends a request to a path.
func (w *world) postTo(t testing.TB, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}
