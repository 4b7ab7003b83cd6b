package protocol

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// now is the time that answers state. Tests replace it.
var now = time.Now

// chatFinishes are the reasons why an answer ends, by their names in the protocol.
var chatFinishes = map[string]middle.Finish{
	"stop": middle.Stop, "length": middle.Length, "tool_calls": middle.Calls, "function_call": middle.Calls, "content_filter": middle.Filter,
}

// chatFinish is the name of a reason. The protocol has none for a pause.
func chatFinish(f middle.Finish) string {
	if f == middle.Pause {
		return string(middle.Stop)
	}
	return cmp.Or(string(f), string(middle.Stop))
}

// chatPlain are fields of a message in an answer that say nothing by themselves.
var chatPlain = []string{"role", "annotations", "name", "prefix", "provider_specific_fields", "function_call", "audio", "images"}

// Read reads a whole answer.
func (chat) Read(text []byte) (*middle.Answer, error) {
	body, err := jsonedit.Decode[struct {
		ID, Model string
		Choices   []struct {
			Message json.RawMessage
			Reason  string `json:"finish_reason"`
		}
		Usage json.RawMessage
	}](text)
	if err != nil {
		return nil, err
	}
	a := &middle.Answer{ID: body.ID, Model: body.Model, Usage: readUsage(body.Usage)}
	if len(body.Choices) == 0 {
		return nil, &middle.FieldError{Param: "choices", Msg: "is missing"}
	}
	if len(body.Choices) > 1 {
		a.Foreign = append(a.Foreign, &middle.FieldError{Param: "choices[1]", Msg: "has no counterpart in another protocol"})
	}
	first := body.Choices[0]
	r := &reader{}
	a.Parts = chatAnswerParts(r, "choices[0].message", first.Message)
	a.Foreign = append(append(a.Foreign, r.foreign...), r.malformed...)
	a.Finish = chatFinishes[first.Reason]
	return a, nil
}

// chatAnswerParts reads the message of an answer. Fields with content that this form has no place for are noted; labels and
// remarks of services are left out.
func chatAnswerParts(r *reader, path string, v json.RawMessage) []middle.Part {
	var content, calls, refusal []middle.Part
	var thought thoughts
	r.object(path, v, func(name, path string, v json.RawMessage) bool {
		switch name {
		case "content":
			content = chatContent(r, path, v)
		case "refusal":
			refusal = []middle.Part{{Kind: middle.Refusal, Text: r.text(path, v)}}
		case "tool_calls":
			r.list(path, v, func(path string, v json.RawMessage) { calls = append(calls, chatCall(r, path, v)) })
		case "reasoning_content", "reasoning", "thinking_blocks":
			thought.read(r, name, path, v)
		default:
			return slices.Contains(chatPlain, name) && !chatjson.HasContent(name, v) || !chatjson.IsContent(name)
		}
		return true
	})
	empty := len(content) == 1 && content[0].Kind == middle.Text && content[0].Text == ""
	if empty && len(calls)+len(refusal)+len(thought.parts()) > 0 {
		content = nil
	}
	return slices.Concat(thought.parts(), content, refusal, calls)
}

// WriteAnswer writes a whole answer.
func (chat) WriteAnswer(a *middle.Answer, _ *Incoming) ([]byte, error) {
	message := object{"role": "assistant", "content": nil, "refusal": nil}
	text, reasoning := "", ""
	var calls, blocks []object
	for _, p := range a.Parts {
		switch p.Kind {
		case middle.Text:
			text += p.Text
			message["content"] = text
		case middle.Refusal:
			message["refusal"] = p.Text
		case middle.Call:
			calls = append(calls, object{"id": p.ID, "type": "function", "function": object{"name": p.Name, "arguments": p.Arguments}})
		case middle.Reasoning:
			reasoning += p.Text
			if p.Signature != "" {
				blocks = append(blocks, writeThinking(p, "chat"))
			}
		default:
			return nil, middle.FieldErrorf("answer", "has %s, which the protocol chat has no place for", p.Kind.Words())
		}
	}
	message.AddText("reasoning_content", reasoning)
	message.AddList("tool_calls", calls)
	message.AddList("thinking_blocks", blocks)
	body := object{
		"id": a.ID, "object": "chat.completion", "created": now().Unix(), "model": a.Model,
		"choices": []object{{"index": 0, "message": message, "logprobs": nil, "finish_reason": chatFinish(a.Finish)}},
	}
	if a.Usage.Reported {
		body["usage"] = chatUsage(a.Usage)
	}
	return jsonedit.Encode(body), nil
}
