package gatewaytest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responsesDialect is OpenAI's API for responses.
var responsesDialect = Dialect{Base: "/v1", Read: readResponses, Write: writeResponses, Event: streamResponses}

// responsesInput is a text, or a list of items.
type responsesInput []responsesItem

type responsesItem struct {
	Type, Role      string
	Content         responsesContent
	CallID          string `json:"call_id"`
	Name, Arguments string
	Output          responsesContent
}

// responsesContent is a text, or a list of parts.
type responsesContent []responsesPart

type responsesPart struct {
	Type, Text string
	Image      string `json:"image_url"`
}

func (c *responsesContent) UnmarshalJSON(text []byte) error {
	var s *string
	if json.Unmarshal(text, &s) == nil {
		if s != nil {
			*c = responsesContent{{Type: "input_text", Text: *s}}
		}
		return nil
	}
	return json.Unmarshal(text, (*[]responsesPart)(c))
}

func (c responsesContent) text() string {
	var all []string
	for _, p := range c {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

func (in *responsesInput) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*in = responsesInput{{Type: "message", Role: "user", Content: responsesContent{{Text: s}}}}
		return nil
	}
	return json.Unmarshal(text, (*[]responsesItem)(in))
}

type responsesRequest struct {
	Model        string
	Instructions string
	Input        responsesInput
	Previous     string `json:"previous_response_id"`
	Tools        []struct {
		Type, Name, Description string
		Parameters              any
	}
	Choice      any `json:"tool_choice"`
	Stream      bool
	Store       *bool
	Max         int `json:"max_output_tokens"`
	Temperature *float64
	TopP        *float64 `json:"top_p"`
	Text        struct {
		Format struct{ Schema any }
	}
}

func readResponses(r *http.Request, body []byte) (*Seen, error) {
	var q responsesRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if len(q.Input) == 0 || !strings.HasSuffix(r.URL.Path, "/responses") {
		return nil, fmt.Errorf("no input at %s", r.URL.Path)
	}
	s := &Seen{Path: r.URL.Path, Model: q.Model, Stream: q.Stream, Usage: true, Max: q.Max, Temperature: q.Temperature, TopP: q.TopP, Schema: q.Text.Format.Schema}
	s.Previous, s.Store = q.Previous, q.Store == nil || *q.Store
	s.system(q.Instructions)
	for i, it := range q.Input {
		if err := s.item(it); err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	for _, t := range q.Tools {
		if t.Type == "function" { // other types are tools of the service
			s.Tools = append(s.Tools, Tool{t.Name, t.Description, t.Parameters})
		}
	}
	var err error
	s.Choice, err = openaiChoice(q.Choice)
	return s, err
}

func (s *Seen) item(it responsesItem) error {
	switch it.Type {
	case "", "message":
		if it.Role == "system" || it.Role == "developer" {
			s.system(it.Content.text())
			return nil
		}
		for _, p := range it.Content {
			if p.Type == "input_image" {
				s.dataURL(p.Image)
			} else {
				s.add(it.Role, p.Text)
			}
		}
	case "function_call":
		s.call(it.CallID, it.Name, it.Arguments)
	case "function_call_output":
		return s.result(it.CallID, it.Output.text())
	case "reasoning":
	default:
		return fmt.Errorf("type %q", it.Type)
	}
	return nil
}

// responsesOutput is the output of an answer.
func responsesOutput(s *Seen, a Said) []object {
	var out []object
	if a.Thinking != "" {
		out = append(out, object{"id": "rs_" + s.Digest(), "type": "reasoning", "summary": []any{object{"type": "summary_text", "text": a.Thinking}}, "encrypted_content": "c2lnbmF0dXJl"})
	}
	if a.Text != "" {
		out = append(out, object{
			"id": "msg_" + s.Digest(), "type": "message", "status": "completed", "role": "assistant",
			"content": []any{object{"type": "output_text", "text": a.Text, "annotations": []any{}, "logprobs": []any{}}},
		})
	}
	for i, c := range a.Calls {
		out = append(out, object{
			"id": fmt.Sprintf("fc_%s_%d", s.Digest(), i), "type": "function_call", "status": "completed",
			"call_id": c.ID, "name": c.Name, "arguments": compact(c.Args),
		})
	}
	return out
}

// responsesObject is a response with a status.
func responsesObject(s *Seen, status string, output []object) object {
	if output == nil {
		output = []object{}
	}
	return object{
		"id": "resp_" + s.Digest(), "object": "response", "created_at": 1, "status": status, "error": nil, "incomplete_details": nil,
		"instructions": nil, "metadata": object{}, "model": s.Model, "output": output, "parallel_tool_calls": true, "temperature": s.Temperature,
		"tool_choice": "auto", "tools": []any{}, "top_p": s.TopP, "usage": nil,
	}
}

func responsesDone(s *Seen, a Said) object {
	done := responsesObject(s, "completed", responsesOutput(s, a))
	if a.Finish == "length" {
		done["status"], done["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	done["usage"] = object{
		"input_tokens": a.In, "input_tokens_details": object{"cached_tokens": a.Cached}, "output_tokens": a.Out,
		"output_tokens_details": object{"reasoning_tokens": a.Reasoned}, "total_tokens": a.In + a.Out,
	}
	return done
}

func writeResponses(s *Seen, a Said) []byte { return []byte(compact(responsesDone(s, a))) }

func streamResponses(s *Seen, a Said) []string {
	var out []string
	send := func(kind string, data object) {
		data["type"], data["sequence_number"] = kind, len(out)
		out = append(out, event(kind, data))
	}
	send("response.created", object{"response": responsesObject(s, "in_progress", nil)})
	send("response.in_progress", object{"response": responsesObject(s, "in_progress", nil)})
	for n, item := range responsesOutput(s, a) {
		at := func(more object) object {
			more["item_id"], more["output_index"] = item["id"], n
			return more
		}
		switch item["type"] {
		case "reasoning":
			send("response.output_item.added", object{"output_index": n, "item": object{"id": item["id"], "type": "reasoning", "summary": []any{}}})
			send("response.reasoning_summary_part.added", at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
			for _, w := range wordsOf(a.Thinking) {
				send("response.reasoning_summary_text.delta", at(object{"summary_index": 0, "delta": w}))
			}
			send("response.reasoning_summary_text.done", at(object{"summary_index": 0, "text": a.Thinking}))
			send("response.reasoning_summary_part.done", at(object{"summary_index": 0, "part": object{"type": "summary_text", "text": a.Thinking}}))
		case "message":
			send("response.output_item.added", object{"output_index": n, "item": object{"id": item["id"], "type": "message", "status": "in_progress", "role": "assistant", "content": []any{}}})
			send("response.content_part.added", at(object{"content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []any{}, "logprobs": []any{}}}))
			for _, w := range wordsOf(a.Text) {
				send("response.output_text.delta", at(object{"content_index": 0, "delta": w, "logprobs": []any{}}))
			}
			send("response.output_text.done", at(object{"content_index": 0, "text": a.Text, "logprobs": []any{}}))
			send("response.content_part.done", at(object{"content_index": 0, "part": item["content"].([]any)[0]}))
		case "function_call":
			send("response.output_item.added", object{"output_index": n, "item": object{
				"id": item["id"], "type": "function_call", "status": "in_progress", "call_id": item["call_id"], "name": item["name"], "arguments": "",
			}})
			text := item["arguments"].(string)
			for _, w := range wordsOf(text) {
				send("response.function_call_arguments.delta", at(object{"delta": w}))
			}
			send("response.function_call_arguments.done", at(object{"arguments": text, "name": item["name"]}))
		}
		send("response.output_item.done", object{"output_index": n, "item": item})
	}
	done := responsesDone(s, a)
	send("response."+done["status"].(string), object{"response": done})
	return out
}
