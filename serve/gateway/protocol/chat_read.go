package protocol

import (
	"encoding/json"
	"slices"

	"pipe/serve/gateway/protocol/middle"
)

// chatMessage reads a message.
func chatMessage(r *reader, path string, v json.RawMessage) (m middle.Message) {
	id, calls := "", []middle.Part(nil)
	var content, refusal []middle.Part
	var thought thoughts
	r.object(path, v, func(name, path string, v json.RawMessage) bool {
		switch name {
		case "role":
			m.Role = r.text(path, v)
			if !slices.Contains(chatRoles, m.Role) {
				r.wrong(path, "is %.40q, none of system, developer, user, assistant and tool", m.Role)
			}
		case "name":
			m.Name = r.text(path, v)
		case "content":
			content = chatContent(r, path, v)
		case "tool_call_id":
			id = r.text(path, v)
		case "refusal":
			refusal = []middle.Part{{Kind: middle.Refusal, Text: r.text(path, v)}}
		case "tool_calls":
			r.list(path, v, func(path string, v json.RawMessage) { calls = append(calls, chatCall(r, path, v)) })
		case "reasoning_content", "reasoning", "thinking_blocks":
			thought.read(r, name, path, v)
		default:
			return false
		}
		return true
	})
	if m.Role == "" {
		r.wrong(in(path, "role"), "is missing")
	}
	if m.Role != middle.ToolRole {
		m.Parts = slices.Concat(thought.parts(), withoutEmpty(m.Role, content, calls), refusal, calls)
		return m
	}
	if id == "" {
		r.wrong(in(path, "tool_call_id"), "is missing: a result names its call")
	}
	m.Parts = []middle.Part{{Kind: middle.Result, ID: id, Parts: content}}
	return m
}

// withoutEmpty leaves out the empty text beside calls of tools, which some programs write.
func withoutEmpty(role string, content, calls []middle.Part) []middle.Part {
	if role == middle.Assistant && len(content) == 1 && content[0].Kind == middle.Text && content[0].Text == "" && len(calls) > 0 {
		return nil
	}
	return content
}

// thoughts are the reasoning of a message, which services send as a text, and other programs as blocks with signatures.
type thoughts struct {
	text   string
	blocks []middle.Part
}

func (t *thoughts) read(r *reader, name, path string, v json.RawMessage) {
	if name != "thinking_blocks" {
		t.text = r.text(path, v)
		return
	}
	r.list(path, v, func(path string, v json.RawMessage) { t.blocks = append(t.blocks, thinkingBlock(r, path, v)) })
}

// parts returns the blocks if there are any: they have the same text.
func (t *thoughts) parts() []middle.Part {
	if len(t.blocks) == 0 && t.text != "" {
		return []middle.Part{{Kind: middle.Reasoning, Text: t.text, Signer: "chat"}}
	}
	return t.blocks
}

// chatContent reads a text or a list of parts.
func chatContent(r *reader, path string, v json.RawMessage) []middle.Part {
	return r.parts(path, v, func(path string, v json.RawMessage) middle.Part { return chatPart(r, path, v) })
}

// chatPart reads a part of a message.
func chatPart(r *reader, path string, v json.RawMessage) (p middle.Part) {
	kind := typeOf(v)
	r.object(path, v, func(name, path string, v json.RawMessage) bool {
		switch kind + "." + name {
		case kind + ".type":
		case "text.text":
			p.Text = r.text(path, v)
		case "refusal.refusal":
			p.Text = r.text(path, v)
		case "image_url.image_url":
			p.Media = chatImage(r, path, v)
		case "input_audio.input_audio":
			p.Media = chatAudio(r, path, v)
		case "file.file":
			p.Media = chatFile(r, path, v)
		default:
			return kind != "text" && kind != "image_url" && kind != "input_audio" && kind != "file" && kind != "refusal" // the part itself is noted
		}
		return true
	})
	kinds := map[string]middle.PartKind{"text": middle.Text, "refusal": middle.Refusal, "image_url": middle.Image, "input_audio": middle.Audio, "file": middle.File}
	if p.Kind = kinds[kind]; p.Kind == "" {
		p.Kind, p.Type = middle.Other, kind
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
	}
	return p
}

// chatImage reads the link of an image.
func chatImage(r *reader, path string, v json.RawMessage) (m middle.Media) {
	detail, found := "", false
	r.members(path, v, members{
		"detail": r.textTo(&detail),
		"url": func(path string, v json.RawMessage) {
			m, found = r.mediaURL(path, r.text(path, v)), true
			r.image(path, m)
		},
	})
	if !found {
		r.wrong(in(path, "url"), "is missing")
	}
	m.Detail = detail
	return m
}

// chatAudio reads a sound.
func chatAudio(r *reader, path string, v json.RawMessage) (m middle.Media) {
	r.members(path, v, members{
		"format": func(path string, v json.RawMessage) { m.Type = "audio/" + r.text(path, v) },
		"data": func(path string, v json.RawMessage) {
			m.Data = r.text(path, v)
			r.base64(path, m.Data)
		},
	})
	return m
}

// chatFile reads a file.
func chatFile(r *reader, path string, v json.RawMessage) (m middle.Media) {
	id, name := "", ""
	r.members(path, v, members{
		"file_id": r.textTo(&id), "filename": r.textTo(&name),
		"file_data": func(path string, v json.RawMessage) { m = r.mediaURL(path, r.text(path, v)) },
	})
	m.FileID, m.Name = id, name
	return m
}

// chatCall reads a call of a tool.
func chatCall(r *reader, path string, v json.RawMessage) middle.Part {
	p := middle.Part{Kind: middle.Call, Arguments: "{}"}
	kind := typeOf(v)
	function := members{
		"name":      r.textTo(&p.Name),
		"arguments": func(path string, v json.RawMessage) { p.Arguments = r.arguments(path, r.text(path, v)) },
	}
	r.members(path, v, members{
		"type": ignored, "index": ignored, "id": r.textTo(&p.ID),
		"function": func(path string, v json.RawMessage) { r.members(path, v, function) },
	})
	if kind != "" && kind != "function" {
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
	} else if p.ID == "" || p.Name == "" {
		r.wrong(path, "needs an id and the name of a function")
	}
	return p
}

// chatTool reads a tool; ok is false for one that is no function.
func chatTool(r *reader, path string, v json.RawMessage) (t middle.NamedSchema, ok bool) {
	if kind := typeOf(v); kind != "function" {
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
		return t, false
	}
	r.members(path, v, members{
		"type":     ignored,
		"function": func(path string, v json.RawMessage) { r.members(path, v, r.namedSchema(&t, "parameters")) },
	})
	r.named(in(path, "function.name"), t.Name)
	return t, true
}

// named checks that a tool has a name.
func (r *reader) named(path, name string) {
	if name == "" {
		r.wrong(path, "is missing: a tool has a name")
	}
}

// chatChoice reads which tools may be called.
func chatChoice(r *reader, path string, v json.RawMessage) middle.Choice {
	if isText(v) {
		mode := r.text(path, v)
		if mode != "none" && mode != "auto" && mode != "required" {
			r.wrong(path, "is %.40q, none of none, auto and required", mode)
		}
		return middle.Choice{Mode: mode}
	}
	var c struct{ Function struct{ Name string } }
	r.value(path, v, &c, "none, auto, required, or an object that names a function")
	if kind := typeOf(v); kind != "function" {
		r.alien(in(path, "type"), "%.40q has no counterpart in another protocol", kind)
	}
	return middle.Choice{Mode: "tool", Name: c.Function.Name}
}

// outputKind is what the middle form calls a type of OpenAI's forms of answers.
func (r *reader) outputKind(path, kind string) string {
	known := map[string]string{"text": "text", "json_object": "json", "json_schema": "schema"}[kind]
	if known == "" {
		r.alien(path, "%.40q has no counterpart in another protocol", kind)
	}
	return known
}

// chatOutput reads the form of the answer.
func chatOutput(r *reader, path string, v json.RawMessage) (o middle.Output) {
	kind := typeOf(v)
	r.members(path, v, members{
		"type": func(path string, _ json.RawMessage) { o.Kind = r.outputKind(path, kind) },
		"json_schema": func(path string, v json.RawMessage) {
			r.members(path, v, r.namedSchema(&o.NamedSchema, "schema"))
		},
	})
	return o
}
