package gatewaytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// anthropicDialect is Anthropic's API for messages.
var anthropicDialect = Dialect{Base: "", Read: readAnthropic, Write: writeAnthropic, Event: streamAnthropic, Error: anthropicError}

func anthropicError(status int, text string) []byte {
	kind := map[int]string{400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	return []byte(compact(object{"type": "error", "error": object{"type": kind, "message": text}, "request_id": "req_1"}))
}

// anthropicBlocks is a text, or a list of blocks.
type anthropicBlocks []anthropicBlock

type anthropicBlock struct {
	Type, Text string
	Source     struct {
		Type, Data, URL string
		MediaType       string `json:"media_type"`
	}
	ID, Name string
	Input    any
	ToolUse  string          `json:"tool_use_id"`
	Content  anthropicBlocks // of a result
	IsError  bool            `json:"is_error"`
}

func (b *anthropicBlocks) UnmarshalJSON(text []byte) error {
	var s *string
	if json.Unmarshal(text, &s) == nil {
		if s != nil {
			*b = anthropicBlocks{{Type: "text", Text: *s}}
		}
		return nil
	}
	return json.Unmarshal(text, (*[]anthropicBlock)(b))
}

func (b anthropicBlocks) text() string {
	var all []string
	for _, p := range b {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

type anthropicRequest struct {
	Model    string
	System   anthropicBlocks
	Messages []struct {
		Role    string
		Content anthropicBlocks
	}
	Tools []struct {
		Name, Description string
		Schema            any `json:"input_schema"`
	}
	Choice      struct{ Type, Name string } `json:"tool_choice"`
	Stream      bool
	Max         int `json:"max_tokens"`
	Temperature *float64
	TopP        *float64 `json:"top_p"`
	Stop        []string `json:"stop_sequences"`
	Output      struct {
		Format struct{ Schema any }
	} `json:"output_config"`
}

func readAnthropic(r *http.Request, body []byte) (*Seen, error) {
	var q anthropicRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	switch {
	case r.URL.Path != "/v1/messages":
		return nil, fmt.Errorf("the path %s", r.URL.Path)
	case r.Header.Get("Anthropic-Version") == "":
		return nil, errors.New("no header anthropic-version")
	case q.Max < 1:
		return nil, errors.New("max_tokens: Field required")
	case len(q.Messages) == 0:
		return nil, errors.New("no messages")
	}
	s := &Seen{Path: r.URL.Path, Model: q.Model, Stream: q.Stream, Usage: true, Max: q.Max, Temperature: q.Temperature, TopP: q.TopP, Stop: q.Stop, Schema: q.Output.Format.Schema}
	s.system(q.System.text())
	role := ""
	for i, m := range q.Messages {
		if m.Role == "system" && i > 0 { // of agents
			s.system(m.Content.text())
			continue
		}
		if m.Role != "user" && m.Role != "assistant" || i == 0 && m.Role != "user" {
			return nil, fmt.Errorf("messages.%d.role %q", i, m.Role)
		}
		if role = m.Role; len(m.Content) == 0 {
			return nil, fmt.Errorf("messages.%d has no content", i)
		}
		for j, b := range m.Content {
			if err := s.block(role, b); err != nil {
				return nil, fmt.Errorf("messages.%d.content.%d: %w", i, j, err)
			}
		}
	}
	for _, t := range q.Tools {
		s.Tools = append(s.Tools, Tool{t.Name, t.Description, t.Schema})
	}
	switch q.Choice.Type {
	case "", "auto":
	case "any":
		s.Choice = "required"
	case "tool":
		s.Choice = q.Choice.Name
	default:
		s.Choice = q.Choice.Type
	}
	return s, nil
}

func (s *Seen) block(role string, b anthropicBlock) error {
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return errors.New("text content blocks must be non-empty")
		}
		s.add(role, b.Text)
	case "image":
		if b.Source.Type == "url" {
			s.image("url", b.Source.URL)
		} else {
			s.image(b.Source.MediaType, b.Source.Data)
		}
	case "tool_use":
		s.call(b.ID, b.Name, b.Input)
	case "tool_result":
		return s.result(b.ToolUse, b.Content.text())
	case "thinking", "redacted_thinking":
	default:
		return fmt.Errorf("type %q", b.Type)
	}
	return nil
}

func anthropicUsage(a Said, out int) object {
	return object{"input_tokens": a.In - a.Cached, "cache_read_input_tokens": a.Cached, "cache_creation_input_tokens": 0, "output_tokens": out}
}

func anthropicStop(a Said) string {
	return map[string]string{"stop": "end_turn", "length": "max_tokens", "calls": "tool_use"}[a.Finish]
}

func writeAnthropic(s *Seen, a Said) []byte {
	content := []any{}
	if a.Thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": a.Thinking, "signature": "c2lnbmF0dXJl"})
	}
	if a.Text != "" {
		content = append(content, object{"type": "text", "text": a.Text})
	}
	for _, c := range a.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Args})
	}
	return []byte(compact(object{
		"id": "msg_" + s.Digest(), "type": "message", "role": "assistant", "model": s.Model, "content": content,
		"stop_reason": anthropicStop(a), "stop_sequence": nil, "usage": anthropicUsage(a, a.Out),
	}))
}

func streamAnthropic(s *Seen, a Said) []string {
	var out []string
	send := func(data object) { out = append(out, event(data["type"].(string), data)) }
	send(object{"type": "message_start", "message": object{
		"id": "msg_" + s.Digest(), "type": "message", "role": "assistant", "model": s.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": anthropicUsage(a, 1),
	}})
	send(object{"type": "ping"})
	n := 0
	block := func(start object, deltas []object) {
		send(object{"type": "content_block_start", "index": n, "content_block": start})
		for _, d := range deltas {
			send(object{"type": "content_block_delta", "index": n, "delta": d})
		}
		send(object{"type": "content_block_stop", "index": n})
		n++
	}
	if a.Thinking != "" {
		deltas := pieces("thinking_delta", "thinking", wordsOf(a.Thinking))
		block(object{"type": "thinking", "thinking": "", "signature": ""}, append(deltas, object{"type": "signature_delta", "signature": "c2lnbmF0dXJl"}))
	}
	if a.Text != "" {
		block(object{"type": "text", "text": ""}, pieces("text_delta", "text", wordsOf(a.Text)))
	}
	for _, c := range a.Calls {
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, pieces("input_json_delta", "partial_json", append([]string{""}, halves(c.Args)...)))
	}
	send(object{"type": "message_delta", "delta": object{"stop_reason": anthropicStop(a), "stop_sequence": nil}, "usage": anthropicUsage(a, a.Out)})
	send(object{"type": "message_stop"})
	return out
}

// pieces are deltas of a type, each with one text.
func pieces(kind, field string, texts []string) []object {
	var out []object
	for _, text := range texts {
		out = append(out, object{"type": kind, field: text})
	}
	return out
}
