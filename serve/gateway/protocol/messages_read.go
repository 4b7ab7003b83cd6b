package protocol

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"

	"pipe/serve/gateway/protocol/middle"
)

// messagesOptions are the fields that other protocols may have, too.
var messagesOptions = options{
	"temperature": "", "top_p": "", "top_k": "",
}

// messagesDefaults are fields that other protocols lack, with the value that means the same as no such field.
var messagesDefaults = map[string]string{"service_tier": `"auto"`, "mcp_servers": "[]"}

// Middle translates a request.
func (f messages) Middle(from *Incoming) *middle.Request {
	m := &middle.Request{From: f.Name(), Model: from.Model, Stream: from.Stream, User: from.User}
	r := &messagesReader{reader{dots: true}, m}
	r.object("", from.object.Text, r.field)
	m.Malformed, m.Foreign = r.malformed, r.foreign
	m.CheckTools(func(_, _ int) string { return "messages" })
	return m
}

// messagesReader reads a request.
type messagesReader struct {
	reader
	to *middle.Request
}

// left notes a field that is left out by a rule.
func (r *messagesReader) left(what string) bool {
	if !slices.Contains(r.to.Left, what) {
		r.to.Left = append(r.to.Left, what)
	}
	return true
}

// leftOut reads a field that is left out.
func (r *messagesReader) leftOut(name string) func(path string, v json.RawMessage) {
	return func(string, json.RawMessage) { r.left(name + " was left out") }
}

// field reads a field of a request.
func (r *messagesReader) field(name, path string, v json.RawMessage) bool {
	m := r.to
	switch name {
	case "model", "stream":
	case "max_tokens":
		m.MaxTokens = r.count(path, v)
	case "system":
		m.Messages = append([]middle.Message{{Role: middle.System, Parts: r.content(path, v)}}, m.Messages...)
	case "messages":
		r.list(path, v, r.message)
	case "metadata":
		r.object(path, v, func(name, path string, v json.RawMessage) bool { return name == "user_id" && r.text(path, v) == m.User })
	case "stop_sequences":
		m.Stop = r.texts(path, v)
	case "tools":
		r.list(path, v, r.tool)
	case "tool_choice":
		r.choice(path, v)
	case "thinking":
		r.thinking(path, v)
	case "output_config":
		r.members(path, v, members{
			"effort": func(path string, v json.RawMessage) { m.Effort = r.effort(path, v) },
			"format": r.format,
		})
	case "output_format":
		r.format(path, v)
	case "cache_control", "context_management":
		return r.left(name + " was left out")
	default:
		return messagesDefaults[name] == string(v) || messagesOptions.read(m, name, v)
	}
	return true
}

// thinking reads how much reasoning is asked for. An adaptive one is the service's default.
func (r *messagesReader) thinking(path string, v json.RawMessage) {
	r.members(path, v, members{
		"display":       r.leftOut("thinking.display"),
		"budget_tokens": func(path string, v json.RawMessage) { r.to.Thinking = r.count(path, v) },
		"type": func(path string, v json.RawMessage) {
			switch kind := r.text(path, v); kind {
			case "disabled":
				r.left("thinking disabled became no effort")
			case "enabled":
			case "adaptive":
				r.left("adaptive thinking became the expert's default")
			default:
				r.wrong(path, "is %.40q, none of enabled, disabled and adaptive", kind)
			}
		},
	})
}

// format reads the form of the answer.
func (r *messagesReader) format(path string, v json.RawMessage) {
	o := &r.to.Output
	r.members(path, v, members{
		"schema": func(path string, v json.RawMessage) { o.Schema = r.schema(path, v) },
		"type": func(path string, v json.RawMessage) {
			if kind := r.text(path, v); kind != "json_schema" {
				r.alien(path, "%.40q has no counterpart in another protocol", kind)
			}
			o.Kind, o.Strict = "schema", new(true)
		},
	})
}

// tool reads a tool.
func (r *messagesReader) tool(path string, v json.RawMessage) {
	if kind := typeOf(v); kind != "" && kind != "custom" {
		r.alien(in(path, "type"), "%.40q, a tool of the service, has no counterpart in another protocol", kind)
		return
	}
	var t middle.NamedSchema
	known := r.namedSchema(&t, "input_schema")
	known["type"], known["cache_control"], known["eager_input_streaming"] = ignored, r.leftOut("cache_control"), r.leftOut("eager_input_streaming")
	r.members(path, v, known)
	r.named(in(path, "name"), t.Name)
	r.to.Tools = append(r.to.Tools, t)
}

// choice reads which tools may be called.
func (r *messagesReader) choice(path string, v json.RawMessage) {
	c := &r.to.Choice
	r.members(path, v, members{
		"name": r.textTo(&c.Name),
		"type": func(path string, v json.RawMessage) {
			kind := r.text(path, v)
			if c.Mode = map[string]string{"auto": "auto", "any": "required", "tool": "tool", "none": "none"}[kind]; c.Mode == "" {
				r.wrong(path, "is %.40q, none of auto, any, tool and none", kind)
			}
		},
		"disable_parallel_tool_use": func(path string, v json.RawMessage) {
			if r.bool(path, v) {
				r.to.Parallel = new(false)
			}
		},
	})
}

// message reads a message. Results of tools become a separate message, before the rest.
func (r *messagesReader) message(path string, v json.RawMessage) {
	role, parts := "", []middle.Part(nil)
	r.members(path, v, members{
		"role":    r.textTo(&role),
		"content": func(path string, v json.RawMessage) { parts = r.content(path, v) },
	})
	if role != middle.User && role != middle.Assistant && role != middle.System { // agents send messages of the system, too
		r.wrong(in(path, "role"), "is %.40q, none of user, assistant and system", role)
	}
	var results, rest []middle.Part
	for _, p := range parts {
		if p.Kind == middle.Result {
			results = append(results, p)
		} else {
			rest = append(rest, p)
		}
	}
	m := r.to
	if len(results) > 0 {
		m.Messages = append(m.Messages, middle.Message{Role: middle.ToolRole, Parts: results})
	}
	if len(rest) > 0 || len(results) == 0 {
		m.Messages = append(m.Messages, middle.Message{Role: role, Parts: rest})
	}
}

// content reads a text or a list of blocks.
func (r *messagesReader) content(path string, v json.RawMessage) []middle.Part {
	return r.parts(path, v, r.block)
}

// blockKinds are the blocks that other protocols have, too.
var blockKinds = map[string]middle.PartKind{
	"text": middle.Text, "image": middle.Image, "document": middle.File, "tool_use": middle.Call, "tool_result": middle.Result,
	"thinking": middle.Reasoning, "redacted_thinking": middle.Reasoning,
}

// block reads a block.
func (r *messagesReader) block(path string, v json.RawMessage) middle.Part {
	kind := typeOf(v)
	p := middle.Part{Kind: blockKinds[kind]}
	switch p.Kind {
	case "":
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
		return middle.Part{Kind: middle.Other, Type: kind}
	case middle.Reasoning:
		return thinkingBlock(&r.reader, path, v)
	}
	r.object(path, v, func(name, path string, v json.RawMessage) bool { return r.blockField(&p, kind, name, path, v) })
	r.checkBlock(path, &p)
	return p
}

// blockField reads a field of a block.
func (r *messagesReader) blockField(p *middle.Part, kind, name, path string, v json.RawMessage) bool {
	switch kind + "." + name {
	case kind + ".type":
	case kind + ".cache_control":
		return r.left("cache_control was left out")
	case "text.text":
		p.Text = r.text(path, v)
	case "text.citations":
		return string(v) == "[]"
	case "image.source":
		p.Media = r.source(path, v)
		r.image(in(path, "media_type"), p.Media)
	case "document.source":
		p.Media = r.source(path, v)
	case "document.title":
		p.Text = r.text(path, v) // until the source was read
	case "document.citations":
		return string(v) == `{"enabled":false}`
	case "tool_use.id":
		p.ID = r.text(path, v)
	case "tool_use.name":
		p.Name = r.text(path, v)
	case "tool_use.input":
		p.Arguments = string(r.schemaOrEmpty(path, v))
	case "tool_use.caller":
		return typeOf(v) == "direct"
	case "tool_result.tool_use_id":
		p.ID = r.text(path, v)
	case "tool_result.content":
		p.Parts = r.content(path, v)
	case "tool_result.is_error":
		p.Failed = r.bool(path, v)
	default:
		return false
	}
	return true
}

// schemaOrEmpty reads the input of a call, an object.
func (r *messagesReader) schemaOrEmpty(path string, v json.RawMessage) json.RawMessage {
	if v[0] != '{' {
		r.wrong(path, "must be an object, the input of a call")
	}
	return v
}

// checkBlock checks what a block must have.
func (r *messagesReader) checkBlock(path string, p *middle.Part) {
	switch p.Kind {
	case middle.File:
		p.Media.Name, p.Text = p.Text, ""
		fallthrough
	case middle.Image:
		if p.Media == (middle.Media{Name: p.Media.Name}) {
			r.wrong(in(path, "source"), "is missing, or has neither data nor a url")
		}
	case middle.Call:
		if p.ID == "" || p.Name == "" {
			r.wrong(path, "needs an id and the name of a tool")
		}
		p.Arguments = cmp.Or(p.Arguments, "{}")
	case middle.Result:
		if p.ID == "" {
			r.wrong(in(path, "tool_use_id"), "is missing: a result names its call")
		}
	}
}

// source reads where the data of an image or a document are.
func (r *messagesReader) source(path string, v json.RawMessage) (m middle.Media) {
	kind, data := typeOf(v), ""
	r.object(path, v, func(name, path string, v json.RawMessage) bool {
		switch name {
		case "type":
			if kind != "base64" && kind != "url" && kind != "file" && kind != "text" {
				r.alien(path, "%.40q has no counterpart in another protocol", kind)
			}
		case "media_type":
			m.Type = r.text(path, v)
		case "data":
			if data = r.text(path, v); kind == "base64" {
				r.base64(path, data)
			}
		case "url":
			m.URL = r.text(path, v)
		case "file_id":
			m.FileID = r.text(path, v)
		default:
			return kind == "content" // noted by its type
		}
		return true
	})
	if m.Data = data; kind == "text" {
		m.Data = base64.StdEncoding.EncodeToString([]byte(data))
	}
	return m
}
