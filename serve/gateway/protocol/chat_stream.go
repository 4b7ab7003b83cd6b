package protocol

import (
	"cmp"
	"encoding/json"
	"slices"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Decoder reads a stream.
func (chat) Decoder() middle.Decoder { return &chatDecoder{call: -1} }

// chatDecoder reads chunks. Parts begin and end where the kind of the text changes.
type chatDecoder struct {
	chatWatcher

	started bool
	open    middle.PartKind // "": none
	call    int             // the index of the open call
	finish  middle.Finish
	ended   bool // the end was returned
}

// chatChunk is a chunk of an answer.
type chatChunk struct {
	ID, Model string
	Choices   []struct {
		Index  int
		Delta  json.RawMessage
		Reason string `json:"finish_reason"`
	}
	Usage, Error json.RawMessage
}

// Decode reads a chunk.
func (d *chatDecoder) Decode(e *sse.Event) ([]middle.Event, error) {
	switch {
	case !e.HasData || d.Alive(e):
		return []middle.Event{{Kind: middle.Life}}, nil
	case d.Last(e):
		d.finish = cmp.Or(d.finish, middle.Stop)
		return append(d.End(), middle.Event{Kind: middle.Done}), nil
	}
	c, err := jsonedit.Decode[chatChunk](e.Data)
	if err != nil {
		return nil, err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" || e.Name == "error" {
		p := ReadProblem(0, e.Data)
		return []middle.Event{{Kind: middle.Fail, Err: &p}}, nil
	}
	var out []middle.Event
	if !d.started && (c.ID != "" || c.Model != "") {
		d.started = true
		out = append(out, middle.Event{Kind: middle.Start, ID: c.ID, Model: c.Model})
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			return append(out, middle.Event{Kind: middle.Alien, Text: "a second choice"}), nil
		}
		out = d.delta(out, choice.Delta)
		if choice.Reason != "" {
			d.finish = cmp.Or(chatFinishes[choice.Reason], middle.Stop)
		}
	}
	if u := readUsage(c.Usage); u.Reported {
		out = append(out, middle.Event{Kind: middle.Count, Usage: u})
	}
	return out, nil
}

// End returns the end of the answer, once.
func (d *chatDecoder) End() []middle.Event {
	out := d.shut(nil)
	if d.finish != "" && !d.ended {
		d.ended = true
		out = append(out, middle.Event{Kind: middle.End, Finish: d.finish})
	}
	return out
}

// delta reads what a chunk adds.
func (d *chatDecoder) delta(out []middle.Event, v json.RawMessage) []middle.Event {
	o, err := jsonedit.ParseValid(jsonedit.OrNull(v))
	if err != nil {
		return out
	}
	for _, f := range o.Fields {
		value := o.Text[f.From:f.End]
		if string(value) == "null" {
			continue
		}
		switch f.Name {
		case "content":
			out = d.texts(out, middle.Text, value)
		case "reasoning_content", "reasoning":
			out = d.texts(out, middle.Reasoning, value)
		case "refusal":
			out = d.texts(out, middle.Refusal, value)
		case "thinking_blocks":
			out = d.blocks(out, value)
		case "tool_calls":
			out = d.calls(out, value)
		default:
			if chatjson.IsContent(f.Name) && chatjson.HasContent(f.Name, value) {
				out = append(out, middle.Event{Kind: middle.Alien, Text: "delta." + f.Name})
			}
		}
	}
	return out
}

// texts adds a text to the open part of its kind.
func (d *chatDecoder) texts(out []middle.Event, kind middle.PartKind, v json.RawMessage) []middle.Event {
	var text string
	if json.Unmarshal(v, &text) != nil {
		return append(out, middle.Event{Kind: middle.Alien, Text: "a content that is no text"})
	}
	if text == "" {
		return out
	}
	if d.open != kind {
		part := middle.Part{Kind: kind}
		if kind == middle.Reasoning {
			part.Signer = "chat"
		}
		out = append(d.shut(out), middle.Event{Kind: middle.Open, Part: part})
		d.open = kind
	}
	return append(out, middle.Event{Kind: middle.Delta, Text: text})
}

// blocks reads signatures of reasoning, whose text came before.
func (d *chatDecoder) blocks(out []middle.Event, v json.RawMessage) []middle.Event {
	r := &reader{}
	r.list("", v, func(path string, v json.RawMessage) {
		p := thinkingBlock(r, path, v)
		if p.Text == "" && p.Signature != "" { // hidden reasoning
			out = append(d.shut(out), middle.Event{Kind: middle.Open, Part: p}, middle.Event{Kind: middle.Shut})
			return
		}
		if d.open == middle.Reasoning && p.Signature != "" && p.Signer != "chat" {
			out = append(out, middle.Event{Kind: middle.Sign, Text: p.Signature, Part: p})
			out = d.shut(out)
		}
	})
	return out
}

// calls reads parts of calls of tools.
func (d *chatDecoder) calls(out []middle.Event, v json.RawMessage) []middle.Event {
	var calls []struct {
		Index    *int
		ID       string
		Function struct{ Name, Arguments string }
	}
	if json.Unmarshal(v, &calls) != nil {
		return append(out, middle.Event{Kind: middle.Alien, Text: "tool_calls of another form"})
	}
	for i, c := range calls {
		index := i
		if c.Index != nil {
			index = *c.Index
		}
		if d.open != middle.Call || index != d.call || c.ID != "" && c.Function.Name != "" && c.Index == nil {
			if c.Function.Name == "" {
				return append(out, middle.Event{Kind: middle.Alien, Text: "a call of a tool that goes on after another one, or has no name"})
			}
			out = append(d.shut(out), middle.Event{Kind: middle.Open, Part: middle.Part{Kind: middle.Call, ID: cmp.Or(c.ID, newID("call_")), Name: c.Function.Name}})
			d.open, d.call = middle.Call, index
		}
		if c.Function.Arguments != "" {
			out = append(out, middle.Event{Kind: middle.Delta, Text: c.Function.Arguments})
		}
	}
	return out
}

// shut ends the open part.
func (d *chatDecoder) shut(out []middle.Event) []middle.Event {
	if d.open == "" {
		return out
	}
	d.open, d.call = "", -1
	return append(out, middle.Event{Kind: middle.Shut})
}

// Encoder writes a stream.
func (chat) Encoder(to *Incoming) middle.Encoder {
	return &chatEncoder{usage: to.Usage, created: now().Unix(), call: -1}
}

// chatEncoder writes chunks.
type chatEncoder struct {
	id, model string
	created   int64
	usage     bool // the caller asked for it
	began     bool
	call      int // index of the last call
	part      middle.Part
	counted   middle.Usage
}

// Encode writes an event.
func (c *chatEncoder) Encode(e middle.Event) []byte {
	switch e.Kind {
	case middle.Start:
		c.id, c.model = e.ID, e.Model
		if e.Usage.Reported {
			c.counted = e.Usage
		}
		return c.begin(nil)
	case middle.Open:
		c.part = e.Part
		if e.Part.Kind == middle.Call {
			c.call++
			return c.delta(object{"tool_calls": []object{{"index": c.call, "id": e.Part.ID, "type": "function", "function": object{"name": e.Part.Name, "arguments": ""}}}})
		}
		if e.Part.Signature != "" { // hidden reasoning
			return c.delta(object{"thinking_blocks": []object{writeThinking(e.Part, "chat")}})
		}
	case middle.Delta:
		c.part.Text += e.Text
		return c.delta(c.text(e.Text))
	case middle.Sign:
		c.part.Signature, c.part.Signer = e.Text, cmp.Or(e.Part.Signer, c.part.Signer)
		return c.delta(object{"thinking_blocks": []object{writeThinking(c.part, "chat")}})
	case middle.Count:
		c.counted = e.Usage
	case middle.End:
		return c.chunk(object{}, chatFinish(e.Finish))
	case middle.Done:
		return c.done()
	case middle.Life:
		return []byte(": life\n\n")
	}
	return nil
}

// text is the delta of a text in the open part.
func (c *chatEncoder) text(s string) object {
	switch c.part.Kind {
	case middle.Call:
		return object{"tool_calls": []object{{"index": c.call, "function": object{"arguments": s}}}}
	case middle.Reasoning:
		return object{"reasoning_content": s}
	case middle.Refusal:
		return object{"refusal": s}
	}
	return object{"content": s}
}

// begin writes the first chunk, once.
func (c *chatEncoder) begin(rest []byte) []byte {
	if c.began {
		return rest
	}
	c.began = true
	return append(c.chunk(object{"role": "assistant", "content": ""}, ""), rest...)
}

func (c *chatEncoder) delta(d object) []byte { return c.begin(c.chunk(d, "")) }

// chunk writes a chunk.
func (c *chatEncoder) chunk(delta object, finish string) []byte {
	choice := object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	return c.event([]object{choice}, nil)
}

func (c *chatEncoder) event(choices []object, usage object) []byte {
	body := object{"id": c.id, "object": "chat.completion.chunk", "created": c.created, "model": c.model, "choices": choices}
	if usage != nil {
		body["usage"] = usage
	}
	return slices.Concat([]byte("data: "), jsonedit.Encode(body), []byte("\n\n"))
}

// done writes the usage, if it was asked for and is known, and the end.
func (c *chatEncoder) done() []byte {
	end := []byte("data: [DONE]\n\n")
	if c.usage && c.counted.Reported {
		return append(c.event([]object{}, chatUsage(c.counted)), end...)
	}
	return end
}
