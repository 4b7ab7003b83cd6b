package gatewaytest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Script is an answer that a service gives in any of three protocols: chat, messages or responses. It is written here by
// hand, apart from the translations that it tests.
type Script struct {
	Model     string
	Reasoning string
	Text      string // words are the events of a stream
	Calls     []ScriptCall
	Cut       bool // the limit of tokens ended it
}

// ScriptCall is a call of a tool.
type ScriptCall struct{ ID, Name, Arguments string }

func js(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Whole is the answer in one piece.
func (s Script) Whole(protocol string) string {
	switch protocol {
	case "messages":
		return s.wholeMessages()
	case "responses":
		return s.wholeResponse()
	}
	calls := ""
	for _, c := range s.Calls {
		calls += fmt.Sprintf(`,{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, js(c.ID), js(c.Name), js(c.Arguments))
	}
	message := `{"role":"assistant","content":` + js(s.Text)
	if s.Reasoning != "" {
		message += `,"reasoning_content":` + js(s.Reasoning)
	}
	if calls != "" {
		message += `,"tool_calls":[` + calls[1:] + `]`
	}
	return fmt.Sprintf(`{"id":"c1","object":"chat.completion","created":1,"model":%s,"choices":[{"index":0,"message":%s},"finish_reason":%q}],"usage":%s}`,
		js(s.Model), message, s.finish("length", "tool_calls", "stop"), Usage)
}

func (s Script) finish(cut, calls, stop string) string {
	switch {
	case s.Cut:
		return cut
	case len(s.Calls) > 0:
		return calls
	}
	return stop
}

// MessagesUsage is the same usage as Usage, as Anthropic's protocol states it.
const MessagesUsage = `{"input_tokens":600,"cache_read_input_tokens":400,"cache_creation_input_tokens":0,"output_tokens":100}`

func (s Script) wholeMessages() string {
	var blocks []string
	if s.Reasoning != "" {
		blocks = append(blocks, fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":"c2ln"}`, js(s.Reasoning)))
	}
	if s.Text != "" {
		blocks = append(blocks, fmt.Sprintf(`{"type":"text","text":%s}`, js(s.Text)))
	}
	for _, c := range s.Calls {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, js(c.ID), js(c.Name), c.Arguments))
	}
	return fmt.Sprintf(`{"id":"m1","type":"message","role":"assistant","model":%s,"content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":%s}`,
		js(s.Model), strings.Join(blocks, ","), s.finish("max_tokens", "tool_use", "end_turn"), MessagesUsage)
}

// ResponsesUsage is the same usage as Usage, as OpenAI's responses state it.
const ResponsesUsage = `{"input_tokens":1000,"input_tokens_details":{"cached_tokens":400},"output_tokens":100,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":1100}`

// items are the items of a response.
func (s Script) items() (items []string) {
	if s.Reasoning != "" {
		items = append(items, fmt.Sprintf(`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":%s}],"encrypted_content":"c2ln"}`, js(s.Reasoning)))
	}
	if s.Text != "" {
		items = append(items, fmt.Sprintf(`{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, js(s.Text)))
	}
	for _, c := range s.Calls {
		items = append(items, fmt.Sprintf(`{"type":"function_call","id":"fc_1","status":"completed","call_id":%s,"name":%s,"arguments":%s}`, js(c.ID), js(c.Name), js(c.Arguments)))
	}
	return items
}

func (s Script) wholeResponse() string {
	status := `"status":"completed","incomplete_details":null`
	if s.Cut {
		status = `"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}`
	}
	return fmt.Sprintf(`{"id":"resp_service","object":"response","created_at":1,%s,"model":%s,"output":[%s],"usage":%s}`,
		status, js(s.Model), strings.Join(s.items(), ","), ResponsesUsage)
}

// words are the pieces of a text.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// Stream is the answer as events. usage adds the chunk with the usage to one of chat completions.
func (s Script) Stream(protocol string, usage bool) (events []string) {
	switch protocol {
	case "messages":
		return s.streamMessages()
	case "responses":
		return s.streamResponse()
	}
	chunk := func(delta, finish string) {
		events = append(events, fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%s,\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", js(s.Model), delta, finish))
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	for _, w := range words(s.Reasoning) {
		chunk(`{"reasoning_content":`+js(w)+`}`, "null")
	}
	for _, w := range words(s.Text) {
		chunk(`{"content":`+js(w)+`}`, "null")
	}
	for i, c := range s.Calls {
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, js(c.ID), js(c.Name)), "null")
		half := len(c.Arguments) / 2
		for _, part := range []string{c.Arguments[:half], c.Arguments[half:]} {
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, js(part)), "null")
		}
	}
	chunk(`{}`, js(s.finish("length", "tool_calls", "stop")))
	if usage {
		events = append(events, fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%s,\"choices\":[],\"usage\":%s}\n\n", js(s.Model), Usage))
	}
	return append(events, "data: [DONE]\n\n")
}

func (s Script) streamMessages() (events []string) {
	add := func(name, data string) { events = append(events, "event: "+name+"\ndata: "+data+"\n\n") }
	add("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":600,"cache_read_input_tokens":400,"cache_creation_input_tokens":0,"output_tokens":1}}}`, js(s.Model)))
	add("ping", `{"type":"ping"}`)
	n := 0
	block := func(start string, deltas ...string) {
		add("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, n, start))
		for _, d := range deltas {
			add("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, n, d))
		}
		add("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n))
		n++
	}
	var deltas []string
	for _, w := range words(s.Reasoning) {
		deltas = append(deltas, `{"type":"thinking_delta","thinking":`+js(w)+`}`)
	}
	if len(deltas) > 0 {
		block(`{"type":"thinking","thinking":"","signature":""}`, append(deltas, `{"type":"signature_delta","signature":"c2ln"}`)...)
	}
	deltas = nil
	for _, w := range words(s.Text) {
		deltas = append(deltas, `{"type":"text_delta","text":`+js(w)+`}`)
	}
	if len(deltas) > 0 {
		block(`{"type":"text","text":""}`, deltas...)
	}
	for _, c := range s.Calls {
		half := len(c.Arguments) / 2
		block(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, js(c.ID), js(c.Name)),
			`{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":`+js(c.Arguments[:half])+`}`, `{"type":"input_json_delta","partial_json":`+js(c.Arguments[half:])+`}`)
	}
	add("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":100}}`, s.finish("max_tokens", "tool_use", "end_turn")))
	add("message_stop", `{"type":"message_stop"}`)
	return events
}

func (s Script) streamResponse() (events []string) {
	n := 0
	add := func(name, fields string) {
		events = append(events, fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", name, name, n, fields))
		n++
	}
	begin := fmt.Sprintf(`"response":{"id":"resp_service","object":"response","created_at":1,"status":"in_progress","model":%s,"output":[]}`, js(s.Model))
	add("response.created", begin)
	add("response.in_progress", begin)
	for i, item := range s.items() {
		switch {
		case strings.Contains(item, `"reasoning"`):
			add("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"type":"reasoning","id":"rs_1","summary":[]}`, i))
			add("response.reasoning_summary_part.added", fmt.Sprintf(`"item_id":"rs_1","output_index":%d,"summary_index":0,"part":{"type":"summary_text","text":""}`, i))
			for _, w := range words(s.Reasoning) {
				add("response.reasoning_summary_text.delta", fmt.Sprintf(`"item_id":"rs_1","output_index":%d,"summary_index":0,"delta":%s`, i, js(w)))
			}
		case strings.Contains(item, `"msg_1"`):
			add("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"type":"message","id":"msg_1","status":"in_progress","role":"assistant","content":[]}`, i))
			add("response.content_part.added", fmt.Sprintf(`"item_id":"msg_1","output_index":%d,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`, i))
			for _, w := range words(s.Text) {
				add("response.output_text.delta", fmt.Sprintf(`"item_id":"msg_1","output_index":%d,"content_index":0,"delta":%s`, i, js(w)))
			}
			add("response.output_text.done", fmt.Sprintf(`"item_id":"msg_1","output_index":%d,"content_index":0,"text":%s`, i, js(s.Text)))
			add("response.content_part.done", fmt.Sprintf(`"item_id":"msg_1","output_index":%d,"content_index":0,"part":{"type":"output_text","text":%s,"annotations":[]}`, i, js(s.Text)))
		default:
			var c struct {
				ID        string `json:"call_id"`
				Name      string
				Arguments string
			}
			_ = json.Unmarshal([]byte(item), &c) // it was written here
			add("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"type":"function_call","id":"fc_1","call_id":%s,"name":%s,"arguments":"","status":"in_progress"}`, i, js(c.ID), js(c.Name)))
			half := len(c.Arguments) / 2
			for _, part := range []string{c.Arguments[:half], c.Arguments[half:]} {
				add("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":"fc_1","output_index":%d,"delta":%s`, i, js(part)))
			}
			add("response.function_call_arguments.done", fmt.Sprintf(`"item_id":"fc_1","output_index":%d,"arguments":%s`, i, js(c.Arguments)))
		}
		add("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
	}
	end := "response.completed"
	if s.Cut {
		end = "response.incomplete"
	}
	add(end, `"response":`+s.wholeResponse())
	return events
}

// Scripted is a service that answers by a script, in the protocol of the path that is called.
type Scripted struct {
	*httptest.Server
	mu       sync.Mutex
	script   Script
	fault    func(w http.ResponseWriter, r *http.Request) bool
	requests []Request
}

// NewScripted returns a service. The test closes it.
func NewScripted(t testing.TB, script Script) *Scripted {
	t.Helper()
	s := &Scripted{script: script}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Set sets the script, and what answers instead of it if it returns true.
func (s *Scripted) Set(script Script, fault func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script, s.fault = script, fault
}

// Requests returns what came since the last call.
func (s *Scripted) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

// ServeHTTP answers a request.
func (s *Scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	header := r.Header.Clone()
	header.Set("Path", r.URL.Path)
	s.mu.Lock()
	s.requests = append(s.requests, Request{header, body})
	script, fault := s.script, s.fault
	s.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	protocol, ok := map[string]string{"/v1/chat/completions": "chat", "/v1/messages": "messages", "/v1/responses": "responses"}[r.URL.Path]
	var q asked
	if json.Unmarshal(body, &q) != nil || !ok {
		http.NotFound(w, r)
		return
	}
	if !q.Stream {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, script.Whole(protocol))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range script.Stream(protocol, q.Options.Usage) {
		io.WriteString(w, e)
		w.(http.Flusher).Flush()
	}
}
