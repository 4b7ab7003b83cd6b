package services

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// Bedrock is the protocol Converse.
type Bedrock struct{}

// Name is bedrock.
func (Bedrock) Name() string { return "bedrock" }

// bedrockOptions are fields of the inferenceConfig.
var bedrockOptions = map[string]string{"temperature": "temperature", "top_p": "topP"}

// Write writes a request. The model is part of the URL.
func (Bedrock) Write(m *middle.Request, t middle.Target) ([]byte, []string, error) {
	w := &bedrockWriter{}
	options := w.withoutHints(m)
	w.withoutStrict(m)
	system, turns := w.turns(m)
	body := object{}
	if len(system) > 0 {
		texts := []object{}
		for _, s := range system {
			texts = append(texts, object{"text": s})
		}
		body["system"] = texts
	}
	messages := []object{}
	for _, turn := range turns {
		messages = append(messages, object{"role": map[bool]string{true: middle.Assistant, false: middle.User}[turn.model], "content": w.content(turn)})
	}
	body["messages"] = messages
	w.config(m, options, t.Model, body)
	w.tools(m, body)
	fillDeep(body, t.Fields)
	return w.Finish(body)
}

// bedrockWriter writes a request.
type bedrockWriter struct{ writer }

// config writes limits.
func (w *bedrockWriter) config(m *middle.Request, options []middle.Option, model string, body object) {
	c := object{}
	if m.MaxTokens > 0 {
		c["maxTokens"] = m.MaxTokens
	}
	if len(m.Stop) > 0 {
		c["stopSequences"] = m.Stop
	}
	w.Options(options, c, func(name string) string { return bedrockOptions[name] })
	if len(c) > 0 {
		body["inferenceConfig"] = c
	}
	switch {
	case m.WantsJSON():
		w.Refuse("response_format", "cannot be passed on: experts of the kind bedrock have no form of answers")
	case m.Thinking > 0 && strings.Contains(model, "anthropic."):
		body["additionalModelRequestFields"] = object{"thinking": object{"type": "enabled", "budget_tokens": m.Thinking}}
	case m.Thinking > 0 || m.Effort != "" && m.Effort != "none":
		w.Refuse("reasoning_effort", "cannot be passed on: experts of the kind bedrock have no such field for all models; fields may set that of a model")
	}
}

// tools writes the tools and how they may be called. A conversation with calls must have them.
func (w *bedrockWriter) tools(m *middle.Request, body object) {
	called := m.Has(middle.Call) || m.Has(middle.Result)
	switch {
	case len(m.Tools) == 0 && called:
		w.Refuse("tools", "are missing: experts of the kind bedrock need them in a conversation with calls of tools")
	case len(m.Tools) == 0:
		return
	case m.Choice.Mode == "none" && called:
		w.Refuse("tool_choice", "cannot be none for experts of the kind bedrock in a conversation with calls of tools")
	case m.Choice.Mode == "none":
		w.Note("tools were left out, since none may be called")
		return
	case m.Parallel != nil && !*m.Parallel:
		w.Refuse("parallel_tool_calls", "cannot be false for experts of the kind bedrock, which have no such setting")
	}
	var list []object
	for _, t := range m.Tools {
		spec := object{"name": t.Name, "inputSchema": object{"json": json.RawMessage(cmp.Or(string(t.Schema), `{"type":"object"}`))}}
		spec.AddText("description", t.Description)
		list = append(list, object{"toolSpec": spec})
	}
	config := object{"tools": list}
	switch c := m.Choice; c.Mode {
	case "auto":
		config["toolChoice"] = object{"auto": object{}}
	case "required":
		config["toolChoice"] = object{"any": object{}}
	case "tool":
		config["toolChoice"] = object{"tool": object{"name": c.Name}}
	}
	body["toolConfig"] = config
}

// content writes a turn. Blank texts are refused by the service, so they are left out.
func (w *bedrockWriter) content(t turn) []object {
	all := []object{}
	for _, p := range t.parts {
		switch p.Kind {
		case middle.Text, middle.Refusal:
			if strings.TrimSpace(p.Text) == "" {
				w.Note("blank texts were left out")
				continue
			}
			all = append(all, object{"text": p.Text})
		case middle.Image:
			all = append(all, w.image(p.Media))
		case middle.Call:
			all = append(all, object{"toolUse": object{"toolUseId": p.ID, "name": p.Name, "input": json.RawMessage(p.Arguments)}})
		case middle.Result:
			all = append(all, w.result(p))
		case middle.Reasoning:
			if p.Signer != "bedrock" {
				w.Note("reasoning of another service was left out")
				continue
			}
			all = append(all, object{"reasoningContent": bedrockReasoning(p)})
		default:
			w.Refuse("messages", "has %s, which experts of the kind bedrock do not take", p.Kind.Words())
		}
	}
	if len(all) == 0 {
		w.Refuse("messages", "has a message without content")
	}
	return all
}

// bedrockFormats are the kinds of images.
var bedrockFormats = []string{"png", "jpeg", "gif", "webp"}

// image writes an image.
func (w *bedrockWriter) image(m middle.Media) object {
	format := strings.TrimPrefix(m.Type, "image/")
	switch {
	case m.Data == "":
		w.Refuse("messages", "has an image by a link or the id of a file; experts of the kind bedrock take only data")
	case !slices.Contains(bedrockFormats, format):
		w.Refuse("messages", "has an image of the type %.40q; experts of the kind bedrock take png, jpeg, gif and webp", m.Type)
	}
	return object{"image": object{"format": format, "source": object{"bytes": m.Data}}}
}

// result writes the result of a call.
func (w *bedrockWriter) result(p middle.Part) object {
	content := []object{}
	for _, in := range p.Parts {
		switch in.Kind {
		case middle.Text:
			content = append(content, object{"text": in.Text})
		case middle.Image:
			content = append(content, w.image(in.Media))
		default:
			w.Refuse("messages", "has a result of a tool with %s, which experts of the kind bedrock do not take", in.Kind.Words())
		}
	}
	out := object{"toolUseId": p.ID, "content": content}
	if p.Failed {
		out["status"] = "error"
	}
	return object{"toolResult": out}
}

// bedrockReasoning writes a reasoning of the service.
func bedrockReasoning(p middle.Part) object {
	if p.Text == "" {
		return object{"redactedContent": p.Signature}
	}
	text := object{"text": p.Text}
	text.AddText("signature", p.Signature)
	return object{"reasoningText": text}
}

// bedrockBlock is a part of an answer.
type bedrockBlock struct {
	Text string
	Call *struct {
		ID    string `json:"toolUseId"`
		Name  string
		Input json.RawMessage
	} `json:"toolUse"`
	Reasoning *struct {
		Text struct{ Text, Signature string } `json:"reasoningText"`
		// Hidden is a reasoning without a text, in base64.
		Hidden string `json:"redactedContent"`
	} `json:"reasoningContent"`
}

// bedrockUsage counts tokens of a cache beside those of the prompt.
type bedrockUsage struct {
	In      int64 `json:"inputTokens"`
	Out     int64 `json:"outputTokens"`
	Read    int64 `json:"cacheReadInputTokens"`
	Written int64 `json:"cacheWriteInputTokens"`
}

func (u *bedrockUsage) middle() middle.Usage {
	if u == nil {
		return middle.Usage{}
	}
	out := middle.NewUsage(u.In+u.Read+u.Written, u.Read, u.Out, 0)
	if out.Written = u.Written; u.Written > 0 {
		out.Stated.Known, out.Stated.Reason = false, "tokens written to a cache have separate prices"
	}
	return out
}

// bedrockFinish is why an answer ended; ok is false for reasons that mean that there is no answer.
func bedrockFinish(reason string) (f middle.Finish, ok bool) {
	switch reason {
	case "end_turn", "stop_sequence":
		return middle.Stop, true
	case "tool_use":
		return middle.Calls, true
	case "max_tokens", "model_context_window_exceeded":
		return middle.Length, true
	case "guardrail_intervened", "content_filtered":
		return middle.Filter, true
	}
	return "", false
}

// Read reads a whole answer. It does not name a model.
func (Bedrock) Read(text []byte) (*middle.Answer, error) {
	b, err := jsonedit.Decode[struct {
		Output struct {
			Message struct{ Content []json.RawMessage }
		}
		Reason string `json:"stopReason"`
		Usage  *bedrockUsage
	}](text)
	if err != nil {
		return nil, err
	}
	finish, ok := bedrockFinish(b.Reason)
	if !ok {
		return nil, fmt.Errorf("the answer ended by %.40q", b.Reason)
	}
	a := &middle.Answer{ID: newID("bedrock-"), Finish: finish, Usage: b.Usage.middle()}
	for i, text := range b.Output.Message.Content {
		var block bedrockBlock
		if err := json.Unmarshal(text, &block); err != nil {
			return nil, err
		}
		p, ok := block.middle(text)
		if !ok {
			a.Foreign = append(a.Foreign, &middle.FieldError{Param: fmt.Sprintf("output.message.content[%d]", i), Msg: "has no counterpart in another protocol"})
			continue
		}
		a.Parts = append(a.Parts, p)
	}
	return a, nil
}

// middle returns the part that a block stands for; ok is false if it is none of those that are known.
func (b *bedrockBlock) middle(text json.RawMessage) (p middle.Part, ok bool) {
	switch {
	case b.Call != nil:
		return middle.Part{Kind: middle.Call, ID: b.Call.ID, Name: b.Call.Name, Arguments: cmp.Or(string(b.Call.Input), "{}")}, true
	case b.Reasoning != nil:
		r := b.Reasoning
		return middle.Part{Kind: middle.Reasoning, Text: r.Text.Text, Signature: cmp.Or(r.Text.Signature, r.Hidden), Signer: "bedrock"}, true
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(text, &fields) // it was read before
	_, ok = fields["text"]
	return middle.Part{Kind: middle.Text, Text: b.Text}, ok
}

// Decoder reads a stream.
func (Bedrock) Decoder() middle.Decoder { return &bedrockDecoder{} }

// bedrockDecoder reads events, whose names say what they are.
type bedrockDecoder struct {
	stepper
	finish middle.Finish
}

// bedrockEvent has the fields of all events.
type bedrockEvent struct {
	Start struct {
		Call *struct {
			ID   string `json:"toolUseId"`
			Name string
		} `json:"toolUse"`
	}
	Delta struct {
		Text      string
		Call      *struct{ Input string } `json:"toolUse"`
		Reasoning *struct {
			Text, Signature string
			Hidden          string `json:"redactedContent"`
		} `json:"reasoningContent"`
	}
	Reason string `json:"stopReason"`
	Usage  *bedrockUsage
}

// Decode reads an event.
func (d *bedrockDecoder) Decode(e *sse.Event) ([]middle.Event, error) {
	if e.Name == "error" {
		p := problemOf(e.Data)
		return []middle.Event{{Kind: middle.Fail, Err: &p}}, nil
	}
	b, err := jsonedit.Decode[bedrockEvent](e.Data)
	if err != nil {
		return nil, err
	}
	switch e.Name {
	case "messageStart":
		d.add(middle.Event{Kind: middle.Start, ID: newID("bedrock-")})
	case "contentBlockStart":
		if c := b.Start.Call; c != nil {
			d.begin(middle.Part{Kind: middle.Call, ID: c.ID, Name: c.Name})
		} else {
			d.add(middle.Event{Kind: middle.Alien, Text: e.Name})
		}
	case "contentBlockDelta":
		d.delta(b)
	case "contentBlockStop":
		d.shut()
	case "messageStop":
		var ok bool
		if d.finish, ok = bedrockFinish(b.Reason); !ok {
			d.add(middle.Event{Kind: middle.Fail, Err: &middle.Problem{Message: "the answer ended by " + b.Reason}})
		}
	case "metadata":
		if u := b.Usage.middle(); u.Reported {
			d.add(middle.Event{Kind: middle.Count, Usage: u})
		}
		d.finished()
	default:
		d.add(middle.Event{Kind: middle.Alien, Text: e.Name})
	}
	return d.take(), nil
}

// delta reads a piece of a block.
func (d *bedrockDecoder) delta(b *bedrockEvent) {
	switch {
	case b.Delta.Call != nil:
		d.add(middle.Event{Kind: middle.Delta, Text: b.Delta.Call.Input})
	case b.Delta.Reasoning != nil:
		r := b.Delta.Reasoning
		d.text(middle.Reasoning, "bedrock", r.Text)
		if r.Signature != "" {
			d.add(middle.Event{Kind: middle.Sign, Text: r.Signature, Part: middle.Part{Signer: "bedrock"}})
		}
		if r.Hidden != "" {
			d.hidden("bedrock", r.Hidden)
		}
	default:
		d.text(middle.Text, "", b.Delta.Text)
	}
}

// finished ends the answer. The reason comes before the usage, which other protocols have before the end.
func (d *bedrockDecoder) finished() {
	if d.finish != "" {
		d.end(d.finish)
	}
}

// End ends an answer whose usage did not come.
func (d *bedrockDecoder) End() []middle.Event {
	d.finished()
	return d.take()
}

// Last is never known.
func (*bedrockDecoder) Last(*sse.Event) bool { return false }
