package gatewaytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// chatDialect is OpenAI's API for chat completions.
var chatDialect = Dialect{Base: "/v1", Read: readChat, Write: writeChat, Event: streamChat}

// azureDialect is the same at Azure.
var azureDialect = Dialect{Base: "", Read: readAzure, Write: writeChat, Event: streamChat}

// readAzure reads a request whose model is in the path.
func readAzure(r *http.Request, body []byte) (*Seen, error) {
	if r.Header.Get("Api-Key") == "" || r.URL.Query().Get("api-version") == "" || !strings.HasPrefix(r.URL.Path, "/openai/deployments/") {
		return nil, fmt.Errorf("no key, no version or another path: %s", r.URL)
	}
	return readChat(r, body)
}

// openaiError is an error as OpenAI's APIs write it.
func openaiError(status int, text string) []byte {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	return []byte(compact(object{"error": object{"message": text, "type": kind, "param": nil, "code": nil}}))
}

// chatContent is a text, or a list of parts.
type chatContent []chatPart

type chatPart struct {
	Type     string
	Text     string
	Refusal  string
	ImageURL struct{ URL string } `json:"image_url"`
}

func (c *chatContent) UnmarshalJSON(text []byte) error {
	var s *string
	if json.Unmarshal(text, &s) == nil {
		if s != nil && *s != "" {
			*c = chatContent{{Type: "text", Text: *s}}
		}
		return nil
	}
	return json.Unmarshal(text, (*[]chatPart)(c))
}

func (c chatContent) text() string {
	var all []string
	for _, p := range c {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

type chatRequest struct {
	Model    string
	Messages []struct {
		Role    string
		Content chatContent
		Calls   []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		CallID string `json:"tool_call_id"`
	}
	Tools []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        any
		}
	}
	Choice        any `json:"tool_choice"`
	Stream        bool
	StreamOptions struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Max         int      `json:"max_tokens"`
	MaxNew      int      `json:"max_completion_tokens"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	Stop        any
	Format      struct {
		Type   string
		Schema struct{ Schema any } `json:"json_schema"`
	} `json:"response_format"`
}

func readChat(r *http.Request, body []byte) (*Seen, error) {
	var q chatRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if len(q.Messages) == 0 || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return nil, fmt.Errorf("no messages at %s", r.URL.Path)
	}
	s := &Seen{Path: r.URL.Path, Model: q.Model, Stream: q.Stream, Usage: q.StreamOptions.Usage, Max: max(q.Max, q.MaxNew), Temperature: q.Temperature, TopP: q.TopP}
	for _, m := range q.Messages {
		switch m.Role {
		case "system", "developer":
			s.system(m.Content.text())
		case "user", "assistant":
			for _, p := range m.Content {
				if p.Type == "image_url" {
					s.dataURL(p.ImageURL.URL)
				} else {
					s.add(m.Role, p.Text)
				}
			}
			for _, c := range m.Calls {
				s.call(c.ID, c.Function.Name, c.Function.Arguments)
			}
		case "tool":
			if err := s.result(m.CallID, m.Content.text()); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("role %q", m.Role)
		}
	}
	for _, t := range q.Tools {
		s.Tools = append(s.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	s.Stop = list(q.Stop)
	s.Schema = q.Format.Schema.Schema
	var err error
	s.Choice, err = openaiChoice(q.Choice)
	return s, err
}

// list is a text, or a list of texts.
func list(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, x := range v {
			all = append(all, fmt.Sprint(x))
		}
		return all
	}
	return nil
}

// openaiChoice reads a tool_choice of chat completions and of responses.
func openaiChoice(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		if v == "auto" {
			return "", nil
		}
		return v, nil
	case object:
		if f, ok := v["function"].(object); ok {
			v = f
		}
		if name, ok := v["name"].(string); ok {
			return name, nil
		}
	}
	return "", errors.New("tool_choice")
}

func chatUsage(a Said) object {
	return object{
		"prompt_tokens": a.In, "completion_tokens": a.Out, "total_tokens": a.In + a.Out,
		"prompt_tokens_details": object{"cached_tokens": a.Cached}, "completion_tokens_details": object{"reasoning_tokens": a.Reasoned},
	}
}

// chatFinish is the finish_reason of an answer.
func chatFinish(a Said) string {
	if a.Finish == "calls" {
		return "tool_calls"
	}
	return a.Finish
}

func writeChat(s *Seen, a Said) []byte {
	m := object{"role": "assistant", "content": a.Text, "refusal": nil}
	if a.Text == "" {
		m["content"] = nil
	}
	if a.Thinking != "" {
		m["reasoning_content"] = a.Thinking
	}
	var calls []any
	for _, c := range a.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": compact(c.Args)}})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return []byte(compact(object{
		"id": "chatcmpl-" + s.Digest(), "object": "chat.completion", "created": 1, "model": s.Model, "usage": chatUsage(a),
		"choices": []any{object{"index": 0, "message": m, "logprobs": nil, "finish_reason": chatFinish(a)}},
	}))
}

func streamChat(s *Seen, a Said) []string {
	var out []string
	chunk := func(delta object, finish any) {
		out = append(out, event("", object{
			"id": "chatcmpl-" + s.Digest(), "object": "chat.completion.chunk", "created": 1, "model": s.Model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		}))
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, w := range wordsOf(a.Thinking) {
		chunk(object{"reasoning_content": w}, nil)
	}
	for _, w := range wordsOf(a.Text) {
		chunk(object{"content": w}, nil)
	}
	for i, c := range a.Calls {
		chunk(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, half := range halves(c.Args) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": half}}}}, nil)
		}
	}
	chunk(object{}, chatFinish(a))
	if s.Usage {
		out = append(out, event("", object{
			"id": "chatcmpl-" + s.Digest(), "object": "chat.completion.chunk", "created": 1, "model": s.Model, "choices": []any{}, "usage": chatUsage(a),
		}))
	}
	return append(out, "data: [DONE]\n\n")
}
