package protocol

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// messagesFinishes are the reasons why an answer ends, by their names in the protocol.
var messagesFinishes = map[string]middle.Finish{
	"end_turn": middle.Stop, "stop_sequence": middle.Stop, "max_tokens": middle.Length, "model_context_window_exceeded": middle.Length,
	"tool_use": middle.Calls, "pause_turn": middle.Pause, "refusal": middle.Filter,
}

// messagesFinish is the name of a reason.
func messagesFinish(f middle.Finish, sequence string) string {
	switch f {
	case middle.Length:
		return "max_tokens"
	case middle.Calls:
		return "tool_use"
	case middle.Pause:
		return "pause_turn"
	case middle.Filter:
		return "refusal"
	}
	if sequence != "" {
		return "stop_sequence"
	}
	return "end_turn"
}

// messagesBody is an answer, or the beginning of a streamed one.
type messagesBody struct {
	Type, ID, Model string
	Content         json.RawMessage
	StopReason      string          `json:"stop_reason"`
	StopSequence    string          `json:"stop_sequence"`
	Usage           json.RawMessage `json:"usage"`
}

// Read reads a whole answer.
func (messages) Read(text []byte) (*middle.Answer, error) {
	b, err := jsonedit.Decode[messagesBody](text)
	if err != nil {
		return nil, err
	}
	if b.Type != "message" || len(b.Content) == 0 {
		return nil, &middle.FieldError{Param: "content", Msg: "is missing"}
	}
	r := &messagesReader{reader{dots: true}, &middle.Request{}}
	a := &middle.Answer{
		ID: b.ID, Model: b.Model, Parts: r.content("content", b.Content), Finish: messagesFinishes[b.StopReason],
		StopSequence: b.StopSequence, Usage: readUsage(b.Usage),
	}
	a.Foreign = append(r.foreign, r.malformed...)
	return a, nil
}

// WriteAnswer writes a whole answer.
func (messages) WriteAnswer(a *middle.Answer, _ *Incoming) ([]byte, error) {
	content := []object{}
	for _, p := range a.Parts {
		switch p.Kind {
		case middle.Text, middle.Refusal:
			content = append(content, object{"type": "text", "text": p.Text})
		case middle.Call:
			if !json.Valid([]byte(p.Arguments)) {
				return nil, middle.FieldErrorf("answer", "has a call of a tool whose arguments are no JSON")
			}
			content = append(content, object{"type": "tool_use", "id": p.ID, "name": p.Name, "input": json.RawMessage(p.Arguments)})
		case middle.Reasoning:
			content = append(content, writeThinking(p, "messages"))
		default:
			return nil, middle.FieldErrorf("answer", "has %s, which the protocol messages has no place for", p.Kind.Words())
		}
	}
	body := messageObject(a.ID, a.Model, a.Usage)
	body["content"], body["stop_reason"] = content, messagesFinish(a.Finish, a.StopSequence)
	if a.StopSequence != "" {
		body["stop_sequence"] = a.StopSequence
	}
	return jsonedit.Encode(body), nil
}

// messageObject is a message without content and without an end.
func messageObject(id, model string, u middle.Usage) object {
	return object{
		"id": id, "type": "message", "role": "assistant", "model": model, "content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": messagesUsage(u),
	}
}

// messagesUsage writes a usage. The protocol counts tokens of a cache beside those of the prompt.
func messagesUsage(u middle.Usage) object {
	return object{
		"input_tokens": max(u.In-u.Cached-u.Written, 0), "output_tokens": u.Out, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.Written,
	}
}

// Decoder reads a stream.
func (messages) Decoder() middle.Decoder { return &messagesDecoder{} }

// messagesDecoder reads the events of a stream.
type messagesDecoder struct {
	usage map[string]json.RawMessage // as far as it was reported
}

// Last reports whether an event ends the message.
func (*messagesDecoder) Last(e *sse.Event) bool { return typeOf(e.Data) == "message_stop" }

// End is nil: a stream has its own last event.
func (*messagesDecoder) End() []middle.Event { return nil }

// messagesEvent is an event of any type.
type messagesEvent struct {
	Type    string
	Message messagesBody
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type, Text, Thinking, Signature string
		JSON                            string `json:"partial_json"`
		StopReason                      string `json:"stop_reason"`
		StopSequence                    string `json:"stop_sequence"`
	}
	Usage json.RawMessage
}

// Decode reads an event.
func (d *messagesDecoder) Decode(e *sse.Event) ([]middle.Event, error) {
	if !e.HasData {
		return one(middle.Event{Kind: middle.Life}), nil
	}
	v, err := jsonedit.Decode[messagesEvent](e.Data)
	if err != nil {
		return nil, err
	}
	switch v.Type {
	case "message_start":
		return one(middle.Event{Kind: middle.Start, ID: v.Message.ID, Model: v.Message.Model, Usage: d.count(v.Message.Usage)}), nil
	case "content_block_start":
		return d.open(v.Block), nil
	case "content_block_delta":
		return one(d.delta(v)), nil
	case "content_block_stop":
		return one(middle.Event{Kind: middle.Shut}), nil
	case "message_delta":
		out := one(middle.Event{Kind: middle.Count, Usage: d.count(v.Usage)})
		if v.Delta.StopReason != "" {
			out = append(out, middle.Event{Kind: middle.End, Finish: cmp.Or(messagesFinishes[v.Delta.StopReason], middle.Stop), StopSequence: v.Delta.StopSequence})
		}
		return out, nil
	case "message_stop":
		return one(middle.Event{Kind: middle.Done}), nil
	case "ping":
		return one(middle.Event{Kind: middle.Life}), nil
	case "error":
		p := ReadProblem(0, e.Data)
		return one(middle.Event{Kind: middle.Fail, Err: &p}), nil
	case "":
		return nil, &middle.FieldError{Param: "type", Msg: "is missing"}
	}
	return one(middle.Event{Kind: middle.Alien, Text: "an event " + v.Type}), nil
}

// count adds what a usage reports. Later counts replace earlier ones.
func (d *messagesDecoder) count(v json.RawMessage) middle.Usage {
	var u map[string]json.RawMessage
	_ = json.Unmarshal(v, &u) // what is no object reports nothing
	if d.usage == nil {
		d.usage = map[string]json.RawMessage{}
	}
	maps.Copy(d.usage, u)
	maps.DeleteFunc(d.usage, func(_ string, v json.RawMessage) bool { return string(v) == "null" })
	if len(d.usage) == 0 {
		return middle.Usage{}
	}
	return readUsage(jsonedit.Encode(d.usage))
}

// open reads the beginning of a block.
func (d *messagesDecoder) open(block json.RawMessage) []middle.Event {
	r := &messagesReader{reader{dots: true}, &middle.Request{}}
	p := r.block("content_block", block)
	if len(r.foreign) > 0 {
		return one(middle.Event{Kind: middle.Alien, Text: r.foreign[0].Error(), Part: middle.Part{Kind: middle.Other}})
	}
	if p.Kind == middle.Call {
		p.Arguments = ""
	}
	text := p.Text
	p.Text = ""
	out := one(middle.Event{Kind: middle.Open, Part: p})
	if text != "" {
		out = append(out, middle.Event{Kind: middle.Delta, Text: text})
	}
	return out
}

// delta reads the continuation of a block.
func (d *messagesDecoder) delta(v *messagesEvent) middle.Event {
	switch v.Delta.Type {
	case "text_delta":
		return middle.Event{Kind: middle.Delta, Text: v.Delta.Text}
	case "input_json_delta":
		return middle.Event{Kind: middle.Delta, Text: v.Delta.JSON}
	case "thinking_delta":
		return middle.Event{Kind: middle.Delta, Text: v.Delta.Thinking}
	case "signature_delta":
		return middle.Event{Kind: middle.Sign, Text: v.Delta.Signature, Part: middle.Part{Signer: "messages"}}
	}
	return middle.Event{Kind: middle.Alien, Text: "a delta " + v.Delta.Type, Part: middle.Part{Kind: middle.Other}}
}

// Encoder writes a stream.
func (messages) Encoder(*Incoming) middle.Encoder { return &messagesEncoder{index: -1} }

// messagesEncoder writes events.
type messagesEncoder struct {
	began  bool
	index  int // of the open or last block
	part   middle.Part
	signed bool // the open block has its signature
	usage  middle.Usage
	end    middle.Event
}

// Encode writes an event.
func (c *messagesEncoder) Encode(e middle.Event) []byte {
	switch e.Kind {
	case middle.Start:
		c.usage = e.Usage
		return c.begin(e.ID, e.Model)
	case middle.Open:
		return c.open(e.Part)
	case middle.Delta:
		return c.delta(c.text(e.Text))
	case middle.Sign:
		c.signed = true
		p := middle.Part{Signature: e.Text, Signer: e.Part.Signer}
		return c.delta(object{"type": "signature_delta", "signature": writeSignature(p, "messages")})
	case middle.Shut:
		return c.shut()
	case middle.Count:
		c.usage = e.Usage
	case middle.End:
		c.end = e
	case middle.Done:
		return c.done()
	case middle.Life:
		return namedEvent("ping", object{"type": "ping"})
	}
	return nil
}

// begin writes the first event, once.
func (c *messagesEncoder) begin(id, model string) []byte {
	if c.began {
		return nil
	}
	c.began = true
	return namedEvent("message_start", object{"type": "message_start", "message": messageObject(cmp.Or(id, newID("msg_")), model, c.usage)})
}

// open writes the beginning of a block.
func (c *messagesEncoder) open(p middle.Part) []byte {
	out := c.begin("", "")
	c.index++
	c.part, c.signed = p, false
	var block object
	switch p.Kind {
	case middle.Call:
		block = object{"type": "tool_use", "id": p.ID, "name": p.Name, "input": object{}}
	case middle.Reasoning:
		block = writeThinking(middle.Part{Signature: p.Signature, Signer: p.Signer}, "messages")
		c.signed = p.Signature != ""
		if !c.signed {
			block["signature"] = ""
		}
	default:
		block = object{"type": "text", "text": ""}
	}
	return append(out, namedEvent("content_block_start", object{"type": "content_block_start", "index": c.index, "content_block": block})...)
}

// text is the delta of a text in the open block.
func (c *messagesEncoder) text(s string) object {
	switch c.part.Kind {
	case middle.Call:
		return object{"type": "input_json_delta", "partial_json": s}
	case middle.Reasoning:
		return object{"type": "thinking_delta", "thinking": s}
	}
	return object{"type": "text_delta", "text": s}
}

func (c *messagesEncoder) delta(d object) []byte {
	return namedEvent("content_block_delta", object{"type": "content_block_delta", "index": c.index, "delta": d})
}

// shut writes the end of a block. Reasoning of another protocol's service gets its signer as the signature, so that it is
// known when the caller sends it back.
func (c *messagesEncoder) shut() (out []byte) {
	if c.part.Kind == middle.Reasoning && !c.signed && c.part.Signer != "messages" {
		out = c.delta(object{"type": "signature_delta", "signature": writeSignature(c.part, "messages")})
	}
	return append(out, namedEvent("content_block_stop", object{"type": "content_block_stop", "index": c.index})...)
}

// done writes the end.
func (c *messagesEncoder) done() []byte {
	delta := object{"stop_reason": messagesFinish(c.end.Finish, c.end.StopSequence), "stop_sequence": nil}
	if c.end.StopSequence != "" {
		delta["stop_sequence"] = c.end.StopSequence
	}
	return slices.Concat(c.begin("", ""),
		namedEvent("message_delta", object{"type": "message_delta", "delta": delta, "usage": messagesUsage(c.usage)}),
		namedEvent("message_stop", object{"type": "message_stop"}))
}
