package protocol

import (
	"encoding/json"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Chat is OpenAI's protocol of chat completions, which many services speak.
var Chat Caller = chat{}

type chat struct{}

// Name is chat.
func (chat) Name() string { return "chat" }

// chatOptions are the fields that other protocols may have, too. Some are no field of OpenAI's API but of services like it.
var chatOptions = options{
	"temperature":            "",
	"top_p":                  "",
	"top_k":                  "",
	"seed":                   "",
	"presence_penalty":       "0",
	"frequency_penalty":      "0",
	"logit_bias":             "{}",
	"metadata":               "{}",
	"service_tier":           `"auto"`,
	"store":                  "false",
	"safety_identifier":      "",
	"prompt_cache_key":       "",
	"prompt_cache_retention": "",
	"verbosity":              "",
}

// chatDefaults are fields that other protocols lack, with the value that means the same as no such field.
var chatDefaults = map[string]string{"n": "1", "logprobs": "false", "modalities": `["text"]`}

// ReadRequest reads a request as it came.
func (f chat) ReadRequest(text []byte) (*Incoming, error) {
	r, err := chatjson.ReadRequest(text)
	if err != nil {
		return nil, err
	}
	o, err := jsonedit.ParseValid(text)
	if err != nil { // it was read before
		return nil, err
	}
	return &Incoming{Format: f, Model: r.Model, Stream: r.Stream, Usage: r.Usage, User: r.User, body: r, object: o}, nil
}

// Middle translates a request.
func (f chat) Middle(from *Incoming) *middle.Request {
	m := &middle.Request{From: f.Name(), Model: from.Model, Stream: from.Stream, User: from.User}
	r := &reader{}
	r.object("", from.object.Text, func(name, path string, v json.RawMessage) bool { return f.field(r, m, name, path, v) })
	m.Malformed, m.Foreign = r.malformed, r.foreign
	m.CheckTools(func(i, _ int) string { return r.at("messages", i) + ".tool_call_id" })
	return m
}

// field reads a field of a request.
func (f chat) field(r *reader, m *middle.Request, name, path string, v json.RawMessage) bool {
	switch name {
	case "model", "stream", "user", "stream_options":
	case "messages":
		r.list(path, v, func(path string, v json.RawMessage) { m.Messages = append(m.Messages, chatMessage(r, path, v)) })
	case "max_tokens", "max_completion_tokens":
		m.MaxTokens = r.count(path, v)
	case "stop":
		m.Stop = r.texts(path, v)
	case "reasoning_effort":
		m.Effort = r.effort(path, v)
	case "tools":
		r.list(path, v, func(path string, v json.RawMessage) {
			if t, ok := chatTool(r, path, v); ok {
				m.Tools = append(m.Tools, t)
			}
		})
	case "tool_choice":
		m.Choice = chatChoice(r, path, v)
	case "parallel_tool_calls":
		m.Parallel = new(r.bool(path, v))
	case "response_format":
		m.Output = chatOutput(r, path, v)
	default:
		return chatDefaults[name] == string(v) || chatOptions.read(m, name, v)
	}
	return true
}

// texts reads a text or a list of texts.
func (r *reader) texts(path string, v json.RawMessage) (all []string) {
	if isText(v) {
		return []string{r.text(path, v)}
	}
	r.value(path, v, &all, "a text or a list of texts")
	return all
}

// effort reads how much reasoning is asked for.
func (r *reader) effort(path string, v json.RawMessage) string {
	switch s := r.text(path, v); s {
	case "none", "minimal", "low", "medium", "high", "xhigh", "max":
		return s
	}
	r.wrong(path, "must be none, minimal, low, medium, high, xhigh or max")
	return ""
}

// chatRoles are the roles of messages. A developer is what a system was called before.
var chatRoles = []string{middle.System, middle.Developer, middle.User, middle.Assistant, middle.ToolRole}

// facts reads the facts of a whole answer.
func (chat) facts(text []byte) (Facts, error) { return chatjson.ReadAnswer(text) }

func (chat) watch() Watcher { return chatWatcher{} }

// chatWatcher reads facts from chunks.
type chatWatcher struct{}

// Read returns the facts of a chunk.
func (chatWatcher) Read(e *sse.Event) (Facts, error) { return chatjson.ReadAnswer(e.Data) }

// Alive reports whether an event is a ping, or an event of an unknown name that is no answer.
func (chatWatcher) Alive(e *sse.Event) bool {
	switch e.Name {
	case "", "message":
		return chatjson.IsPing(e.Data)
	case "error":
		return false
	}
	_, err := chatjson.ReadAnswer(e.Data)
	return err != nil
}

// Last reports whether an event is [DONE].
func (chatWatcher) Last(e *sse.Event) bool { return string(e.Data) == "[DONE]" }

// Error is the body of a response with an error.
func (chat) Error(p middle.Problem) []byte { return openAIError(p) }

// ErrorEvent is the last event of a stream that failed.
func (chat) ErrorEvent(p middle.Problem) []byte {
	return []byte("data: " + string(openAIError(p)) + "\n\n")
}
