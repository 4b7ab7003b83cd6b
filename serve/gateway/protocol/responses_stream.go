package protocol

import (
	"cmp"
	"encoding/json"
	"slices"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Decoder reads a stream.
func (responses) Decoder() middle.Decoder { return &responsesDecoder{} }

// responsesDecoder reads the events of a stream.
type responsesDecoder struct {
	open  middle.PartKind // "": none
	calls bool
}

// Last reports whether an event ends the response.
func (*responsesDecoder) Last(e *sse.Event) bool {
	switch typeOf(e.Data) {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "error":
		return true
	}
	return false
}

// End is nil: a stream has its own last event.
func (*responsesDecoder) End() []middle.Event { return nil }

// responsesEvent is an event of any type.
type responsesEvent struct {
	Type     string
	Response responseBody
	Item     json.RawMessage
	Part     struct{ Type string }
	Delta    json.RawMessage
	Summary  int `json:"summary_index"`
}

// Decode reads an event.
func (d *responsesDecoder) Decode(e *sse.Event) ([]middle.Event, error) {
	if !e.HasData {
		return one(middle.Event{Kind: middle.Life}), nil
	}
	v, err := jsonedit.Decode[responsesEvent](e.Data)
	if err != nil {
		return nil, err
	}
	switch v.Type {
	case "response.created":
		return one(middle.Event{Kind: middle.Start, ID: v.Response.ID, Model: v.Response.Model}), nil
	case "response.output_item.added":
		return d.added(v.Item), nil
	case "response.content_part.added":
		return d.begin(nil, middle.Part{Kind: itemKinds[v.Part.Type]}), nil
	case "response.output_text.delta":
		return d.delta(middle.Text, v.Delta), nil
	case "response.refusal.delta":
		return d.delta(middle.Refusal, v.Delta), nil
	case "response.function_call_arguments.delta":
		return d.delta(middle.Call, v.Delta), nil
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return d.delta(middle.Reasoning, v.Delta), nil
	case "response.reasoning_summary_part.added":
		if v.Summary > 0 && d.open == middle.Reasoning {
			return one(middle.Event{Kind: middle.Delta, Text: "\n\n"}), nil
		}
	case "response.output_item.done":
		return d.done(v.Item), nil
	case "response.completed", "response.incomplete":
		return d.end(&v.Response), nil
	case "response.failed", "response.cancelled":
		p := middle.Problem{Message: "the response failed"}
		if inside := problemIn(jsonedit.Encode(object{"error": v.Response.Error})); inside != nil {
			p = *inside
		}
		return one(middle.Event{Kind: middle.Fail, Err: &p}), nil
	case "error":
		p := ReadProblem(0, e.Data)
		return one(middle.Event{Kind: middle.Fail, Err: &p}), nil
	case "response.in_progress", "response.queued", "response.content_part.done", "response.output_text.done", "response.refusal.done",
		"response.function_call_arguments.done", "response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.reasoning_text.done":
	case "":
		return nil, &middle.FieldError{Param: "type", Msg: "is missing"}
	default:
		return one(middle.Event{Kind: middle.Alien, Text: "an event " + v.Type}), nil
	}
	return nil, nil
}

// begin opens a part after it has ended the one before. The parts of a reasoning belong to its item.
func (d *responsesDecoder) begin(out []middle.Event, p middle.Part) []middle.Event {
	if p.Kind == "" {
		return append(out, middle.Event{Kind: middle.Alien, Text: "a part of an unknown type", Part: middle.Part{Kind: middle.Other}})
	}
	if d.open == middle.Reasoning && p.Kind == middle.Text {
		return out
	}
	out = append(d.shut(out), middle.Event{Kind: middle.Open, Part: p})
	d.open = p.Kind
	return out
}

// shut ends the open part.
func (d *responsesDecoder) shut(out []middle.Event) []middle.Event {
	if d.open == "" {
		return out
	}
	d.open = ""
	return append(out, middle.Event{Kind: middle.Shut})
}

// item reads an item of the output.
func (d *responsesDecoder) item(v json.RawMessage) (p middle.Part, foreign string) {
	r := &responsesReader{messagesReader{reader{}, &middle.Request{}}}
	if typeOf(v) == "message" {
		return middle.Part{Kind: middle.Text}, ""
	}
	r.item("item", v)
	if len(r.foreign) > 0 {
		return p, r.foreign[0].Error()
	}
	if len(r.to.Messages) == 0 {
		return p, "an item of an unknown form"
	}
	return r.to.Messages[0].Parts[0], ""
}

// added reads the beginning of an item. The parts of a message begin with separate events.
func (d *responsesDecoder) added(v json.RawMessage) []middle.Event {
	p, foreign := d.item(v)
	switch {
	case foreign != "":
		return one(middle.Event{Kind: middle.Alien, Text: foreign, Part: middle.Part{Kind: middle.Other}})
	case p.Kind == middle.Call:
		d.calls, p.Arguments = true, ""
		return d.begin(nil, p)
	case p.Kind == middle.Reasoning:
		return d.begin(nil, middle.Part{Kind: p.Kind, Signer: p.Signer})
	}
	return nil
}

// delta reads the continuation of a part.
func (d *responsesDecoder) delta(kind middle.PartKind, v json.RawMessage) (out []middle.Event) {
	var text string
	if json.Unmarshal(jsonedit.OrNull(v), &text) != nil {
		return one(middle.Event{Kind: middle.Alien, Text: "a delta that is no text"})
	}
	if d.open != kind {
		if kind == middle.Call {
			return one(middle.Event{Kind: middle.Alien, Text: "arguments of a call that is not open"})
		}
		out = d.begin(nil, middle.Part{Kind: kind})
	}
	return append(out, middle.Event{Kind: middle.Delta, Text: text})
}

// done reads the end of an item.
func (d *responsesDecoder) done(v json.RawMessage) (out []middle.Event) {
	p, _ := d.item(v)
	if p.Kind == middle.Reasoning && d.open == middle.Reasoning && p.Signature != "" {
		out = append(out, middle.Event{Kind: middle.Sign, Text: p.Signature, Part: p})
	}
	return d.shut(out)
}

// end reads the end of the response.
func (d *responsesDecoder) end(b *responseBody) []middle.Event {
	out := d.shut(nil)
	if u := readUsage(b.Usage); u.Reported {
		out = append(out, middle.Event{Kind: middle.Count, Usage: u})
	}
	return append(out, middle.Event{Kind: middle.End, Finish: cmp.Or(b.finish(d.calls), middle.Stop)}, middle.Event{Kind: middle.Done})
}

// Encoder writes a stream.
func (responses) Encoder(to *Incoming) middle.Encoder {
	return &responsesEncoder{to: to, id: newID("resp_"), created: now().Unix()}
}

// responsesEncoder writes events.
type responsesEncoder struct {
	to        *Incoming
	id, model string
	created   int64
	began     bool
	number    int // of the next event
	part      middle.Part
	item      string   // id of the open item
	output    []object // whole items
	usage     middle.Usage
	finish    middle.Finish
}

// Encode writes an event.
func (c *responsesEncoder) Encode(e middle.Event) []byte {
	switch e.Kind {
	case middle.Start:
		c.model = e.Model
		if e.Usage.Reported {
			c.usage = e.Usage
		}
		return c.begin()
	case middle.Open:
		return slices.Concat(c.begin(), c.open(e.Part))
	case middle.Delta:
		return c.delta(e.Text)
	case middle.Sign:
		c.part.Signature, c.part.Signer = e.Text, cmp.Or(e.Part.Signer, c.part.Signer)
	case middle.Shut:
		return c.shut()
	case middle.Count:
		c.usage = e.Usage
	case middle.End:
		c.finish = e.Finish
	case middle.Done:
		return c.done()
	case middle.Life:
		return []byte(": life\n\n")
	}
	return nil
}

// event writes an event with its number.
func (c *responsesEncoder) event(name string, data object) []byte {
	data["type"], data["sequence_number"] = name, c.number
	c.number++
	return namedEvent(name, data)
}

// begin writes the first events, once.
func (c *responsesEncoder) begin() []byte {
	if c.began {
		return nil
	}
	c.began = true
	r := responseObject(c.id, c.model, "in_progress", c.created, c.to)
	return slices.Concat(c.event("response.created", object{"response": r}), c.event("response.in_progress", object{"response": r}))
}

// about is the item and the part that an event is about.
func (c *responsesEncoder) about(more object) object {
	more["item_id"], more["output_index"] = c.item, len(c.output)
	if c.part.Kind == middle.Reasoning {
		more["summary_index"] = 0
	} else if c.part.Kind != middle.Call {
		more["content_index"] = 0
	}
	return more
}

// open writes the beginning of an item.
func (c *responsesEncoder) open(p middle.Part) []byte {
	c.part = p
	c.part.Text, c.part.Arguments = "", ""
	item := outputItem(c.part)
	c.item, _ = item["id"].(string)
	switch p.Kind {
	case middle.Call:
		item["status"] = "in_progress"
		return c.event("response.output_item.added", object{"output_index": len(c.output), "item": item})
	case middle.Reasoning:
		return append(c.event("response.output_item.added", object{"output_index": len(c.output), "item": object{"type": "reasoning", "id": c.item, "summary": []object{}}}),
			c.event("response.reasoning_summary_part.added", c.about(object{"part": object{"type": "summary_text", "text": ""}}))...)
	}
	item["status"], item["content"] = "in_progress", []object{}
	return append(c.event("response.output_item.added", object{"output_index": len(c.output), "item": item}),
		c.event("response.content_part.added", c.about(object{"part": outputText(c.part)}))...)
}

// names of the events about the text of a part.
func (c *responsesEncoder) textEvent() string {
	switch c.part.Kind {
	case middle.Call:
		return "response.function_call_arguments"
	case middle.Reasoning:
		return "response.reasoning_summary_text"
	case middle.Refusal:
		return "response.refusal"
	}
	return "response.output_text"
}

// delta writes the continuation of a part.
func (c *responsesEncoder) delta(s string) []byte {
	data := object{"delta": s}
	switch c.part.Kind {
	case middle.Call:
		c.part.Arguments += s
	case middle.Text:
		data["logprobs"] = []object{}
		fallthrough
	default:
		c.part.Text += s
	}
	return c.event(c.textEvent()+".delta", c.about(data))
}

// shut writes the end of a part and of its item.
func (c *responsesEncoder) shut() (out []byte) {
	item := outputItem(c.part)
	item["id"] = c.item
	switch c.part.Kind {
	case middle.Call:
		c.part.Arguments = cmp.Or(c.part.Arguments, "{}")
		item["arguments"] = c.part.Arguments
		out = c.event(c.textEvent()+".done", c.about(object{"arguments": c.part.Arguments, "name": c.part.Name}))
	case middle.Reasoning:
		part := object{"type": "summary_text", "text": c.part.Text}
		out = append(c.event(c.textEvent()+".done", c.about(object{"text": c.part.Text})), c.event("response.reasoning_summary_part.done", c.about(object{"part": part}))...)
	case middle.Refusal:
		out = append(c.event(c.textEvent()+".done", c.about(object{"refusal": c.part.Text})), c.event("response.content_part.done", c.about(object{"part": outputText(c.part)}))...)
	default:
		done := object{"text": c.part.Text, "logprobs": []object{}}
		out = append(c.event(c.textEvent()+".done", c.about(done)), c.event("response.content_part.done", c.about(object{"part": outputText(c.part)}))...)
	}
	out = append(out, c.event("response.output_item.done", object{"output_index": len(c.output), "item": item})...)
	c.output = append(c.output, item)
	return out
}

// done writes the last event, with the whole response.
func (c *responsesEncoder) done() []byte {
	out := c.begin()
	r := responseObject(c.id, c.model, "", c.created, c.to)
	if r["output"] = c.output; c.output == nil {
		r["output"] = []object{}
	}
	endResponse(r, c.finish, c.usage)
	return append(out, c.event("response."+r["status"].(string), object{"response": r})...)
}
