package protocol

import (
	"encoding/json"
	"slices"
	"strings"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// responsesOptions are the fields that other protocols may have, too.
var responsesOptions = options{
	"temperature":            "",
	"top_p":                  "",
	"metadata":               "{}",
	"service_tier":           `"auto"`,
	"safety_identifier":      "",
	"prompt_cache_key":       "",
	"prompt_cache_retention": "",
}

// responsesDefaults are fields that other protocols lack, with the value that means the same as no such field.
var responsesDefaults = map[string]string{"background": "false", "top_logprobs": "0", "truncation": `"disabled"`, "include": "[]"}

// Middle translates a request.
func (f responses) Middle(from *Incoming) *middle.Request {
	m := &middle.Request{From: f.Name(), Model: from.Model, Stream: from.Stream, User: from.User}
	r := &responsesReader{messagesReader{reader{}, m}}
	r.object("", from.object.Text, r.field)
	m.Malformed, m.Foreign = r.malformed, r.foreign
	if from.PreviousResponse() == "" { // else the calls are in what it goes on from
		m.CheckTools(func(_, _ int) string { return "input" })
	}
	return m
}

// responsesReader reads a request.
type responsesReader struct{ messagesReader }

// field reads a field of a request.
func (r *responsesReader) field(name, path string, v json.RawMessage) bool {
	m := r.to
	switch name {
	case "model", "stream", "user", "store", "stream_options":
	case "input":
		r.input(path, v)
	case "instructions":
		m.Messages = append([]middle.Message{{Role: middle.System, Parts: r.itemContent(path, v)}}, m.Messages...)
	case "max_output_tokens":
		m.MaxTokens = r.count(path, v)
	case "tools":
		r.list(path, v, r.tool)
	case "tool_choice":
		r.choice(path, v)
	case "parallel_tool_calls":
		m.Parallel = new(r.bool(path, v))
	case "reasoning":
		r.members(path, v, members{
			"effort":  func(path string, v json.RawMessage) { m.Effort = r.effort(path, v) },
			"summary": r.leftOut("reasoning.summary"), "generate_summary": r.leftOut("reasoning.generate_summary"),
		})
	case "text":
		r.form(path, v)
	case "include":
		return string(v) == "[]" || compact(v) == `["reasoning.encrypted_content"]` // it is always given
	default:
		return responsesDefaults[name] == string(v) || responsesOptions.read(m, name, v)
	}
	return true
}

// compact is JSON without white space outside of texts, for a comparison.
func compact(v json.RawMessage) string { return string(jsonedit.Encode(v)) }

// form reads the form of the answer.
func (r *responsesReader) form(path string, v json.RawMessage) {
	r.members(path, v, members{
		"verbosity": func(path string, v json.RawMessage) {
			r.to.Options = append(r.to.Options, middle.Option{Name: "verbosity", Field: path, Value: v})
		},
		"format": func(path string, v json.RawMessage) {
			kind, o := typeOf(v), &r.to.Output
			known := r.namedSchema(&o.NamedSchema, "schema")
			known["type"] = func(path string, _ json.RawMessage) { o.Kind = r.outputKind(path, kind) }
			r.members(path, v, known)
		},
	})
}

// tool reads a tool.
func (r *responsesReader) tool(path string, v json.RawMessage) {
	if kind := typeOf(v); kind != "function" {
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
		return
	}
	var t middle.NamedSchema
	known := r.namedSchema(&t, "parameters")
	known["type"] = ignored
	r.members(path, v, known)
	r.named(in(path, "name"), t.Name)
	r.to.Tools = append(r.to.Tools, t)
}

// choice reads which tools may be called.
func (r *responsesReader) choice(path string, v json.RawMessage) {
	if isText(v) {
		r.to.Choice = chatChoice(&r.reader, path, v)
		return
	}
	var c struct{ Name string }
	r.value(path, v, &c, "none, auto, required, or an object that names a function")
	if kind := typeOf(v); kind != "function" {
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
	}
	r.to.Choice = middle.Choice{Mode: "tool", Name: c.Name}
}

// input reads the conversation.
func (r *responsesReader) input(path string, v json.RawMessage) {
	if isText(v) {
		r.add(middle.User, middle.Part{Kind: middle.Text, Text: r.text(path, v)})
		return
	}
	r.list(path, v, r.item)
}

// add adds parts to the conversation. What the model said in a row is one message.
func (r *responsesReader) add(role string, parts ...middle.Part) {
	m := r.to
	if n := len(m.Messages); role == middle.Assistant && n > 0 && m.Messages[n-1].Role == role {
		m.Messages[n-1].Parts = append(m.Messages[n-1].Parts, parts...)
		return
	}
	m.Messages = append(m.Messages, middle.Message{Role: role, Parts: parts})
}

// item reads an item of the conversation.
func (r *responsesReader) item(path string, v json.RawMessage) {
	switch kind := typeOf(v); kind {
	case "", "message":
		r.message(path, v)
	case "function_call":
		r.add(middle.Assistant, r.call(path, v))
	case "function_call_output":
		r.result(path, v)
	case "reasoning":
		r.add(middle.Assistant, r.thought(path, v))
	default:
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
		r.add(middle.Assistant, middle.Part{Kind: middle.Other, Type: kind})
	}
}

// message reads a message.
func (r *responsesReader) message(path string, v json.RawMessage) {
	role, parts := "", []middle.Part(nil)
	r.members(path, v, members{
		"type": ignored, "id": ignored, "status": ignored, "phase": ignored, "role": r.textTo(&role),
		"content": func(path string, v json.RawMessage) { parts = r.itemContent(path, v) },
	})
	if role == middle.ToolRole || !slices.Contains(chatRoles, role) {
		r.wrong(in(path, "role"), "is %.40q, none of system, developer, user and assistant", role)
	}
	r.add(role, parts...)
}

// itemContent reads a text or a list of parts.
func (r *responsesReader) itemContent(path string, v json.RawMessage) []middle.Part {
	return r.parts(path, v, r.part)
}

// itemKinds are the parts that other protocols have, too.
var itemKinds = map[string]middle.PartKind{
	"input_text": middle.Text, "output_text": middle.Text, "text": middle.Text, "summary_text": middle.Text, "reasoning_text": middle.Text,
	"refusal": middle.Refusal, "input_image": middle.Image, "input_file": middle.File,
}

// part reads a part of a message.
func (r *responsesReader) part(path string, v json.RawMessage) middle.Part {
	kind := typeOf(v)
	p := middle.Part{Kind: itemKinds[kind]}
	if p.Kind == "" {
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
		return middle.Part{Kind: middle.Other, Type: kind}
	}
	detail, name := "", ""
	r.object(path, v, func(field, path string, v json.RawMessage) bool {
		switch string(p.Kind) + "." + field {
		case string(p.Kind) + ".type":
		case "text.text", "refusal.refusal":
			p.Text = r.text(path, v)
		case "text.annotations", "text.logprobs":
			return string(v) == "[]"
		case "image.detail", "file.detail":
			detail = r.text(path, v)
		case "image.image_url":
			p.Media = r.mediaURL(path, r.text(path, v))
			r.image(path, p.Media)
		case "file.file_data":
			p.Media = r.mediaURL(path, r.text(path, v))
		case "file.file_url":
			p.Media.URL = r.text(path, v)
		case "file.filename":
			name = r.text(path, v)
		case "image.file_id", "file.file_id":
			p.Media.FileID = r.text(path, v)
		default:
			return false
		}
		return true
	})
	if (p.Kind == middle.Image || p.Kind == middle.File) && p.Media == (middle.Media{}) {
		r.wrong(path, "has neither data nor a link")
	}
	p.Media.Detail, p.Media.Name = detail, name
	return p
}

// call reads a call of a tool.
func (r *responsesReader) call(path string, v json.RawMessage) middle.Part {
	p := middle.Part{Kind: middle.Call, Arguments: "{}"}
	r.members(path, v, members{
		"type": ignored, "id": ignored, "status": ignored, "call_id": r.textTo(&p.ID), "name": r.textTo(&p.Name),
		"arguments": func(path string, v json.RawMessage) { p.Arguments = r.arguments(path, r.text(path, v)) },
	})
	if p.ID == "" || p.Name == "" {
		r.wrong(path, "needs a call_id and the name of a function")
	}
	return p
}

// result reads the result of a call. Results in a row are one message.
func (r *responsesReader) result(path string, v json.RawMessage) {
	p := middle.Part{Kind: middle.Result}
	r.members(path, v, members{
		"type": ignored, "id": ignored, "status": ignored, "call_id": r.textTo(&p.ID),
		"output": func(path string, v json.RawMessage) { p.Parts = r.itemContent(path, v) },
	})
	if p.ID == "" {
		r.wrong(in(path, "call_id"), "is missing: a result names its call")
	}
	m := r.to
	if n := len(m.Messages); n > 0 && m.Messages[n-1].Role == middle.ToolRole {
		m.Messages[n-1].Parts = append(m.Messages[n-1].Parts, p)
		return
	}
	m.Messages = append(m.Messages, middle.Message{Role: middle.ToolRole, Parts: []middle.Part{p}})
}

// thought reads reasoning. Its signature is the id with the encrypted content: a service wants both back.
func (r *responsesReader) thought(path string, v json.RawMessage) middle.Part {
	p := middle.Part{Kind: middle.Reasoning, Signer: "responses"}
	id, sealed := "", ""
	var summary, content []middle.Part
	r.members(path, v, members{
		"type": ignored, "status": ignored, "id": r.textTo(&id), "encrypted_content": r.textTo(&sealed),
		"summary": func(path string, v json.RawMessage) { summary = r.itemContent(path, v) },
		"content": func(path string, v json.RawMessage) { content = r.itemContent(path, v) },
	})
	if len(summary) == 0 {
		summary = content
	}
	texts := make([]string, len(summary))
	for i, s := range summary {
		texts[i] = s.Text
	}
	p.Text = strings.Join(texts, "\n\n")
	if name, rest, ok := strings.Cut(sealed, ":"); ok {
		p.Signature, p.Signer = rest, name
	} else if sealed != "" {
		p.Signature = id + "~" + sealed
	}
	return p
}
