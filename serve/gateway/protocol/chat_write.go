package protocol

import (
	"cmp"
	"encoding/json"
	"strings"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// Write writes a request.
func (f chat) Write(m *middle.Request, t Target) ([]byte, []string, error) {
	w := &chatWriter{}
	body := object{"model": t.Model, "messages": w.messages(m)}
	if m.Stream {
		body["stream"] = true
		if t.Usage {
			body["stream_options"] = object{"include_usage": true}
		}
	}
	w.settings(m, t, body)
	w.tools(m, body)
	w.Options(m.Options, body, chatOptions.field)
	fill(body, t.Fields, chatjson.Alias)
	return w.Finish(body)
}

// chatWriter writes a request, and notes what changed.
type chatWriter struct{ middle.Writer }

// settings writes limits and the form of the answer.
func (w *chatWriter) settings(m *middle.Request, t Target, body object) {
	if m.MaxTokens > 0 {
		name := "max_completion_tokens"
		if _, ok := t.Fields["max_tokens"]; ok {
			name = "max_tokens" // the service has the older name
		}
		body[name] = m.MaxTokens
	}
	if len(m.Stop) > 0 {
		body["stop"] = m.Stop
	}
	if m.User != "" {
		body["user"] = m.User
	}
	if effort := w.Effort(m); effort != "" {
		body["reasoning_effort"] = effort
	}
	switch o := m.Output; o.Kind {
	case "json":
		body["response_format"] = object{"type": "json_object"}
	case "schema":
		o.Name = cmp.Or(o.Name, "answer")
		body["response_format"] = object{"type": "json_schema", "json_schema": o.Object("schema")}
	}
}

// tools writes the tools and how they may be called.
func (w *chatWriter) tools(m *middle.Request, body object) {
	if len(m.Tools) == 0 {
		return
	}
	var tools []object
	for _, t := range m.Tools {
		tools = append(tools, object{"type": "function", "function": t.Object("parameters")})
	}
	body["tools"] = tools
	body.AddBool("parallel_tool_calls", m.Parallel)
	switch c := m.Choice; c.Mode {
	case "":
	case "tool":
		body["tool_choice"] = object{"type": "function", "function": object{"name": c.Name}}
	default:
		body["tool_choice"] = c.Mode
	}
}

// messages writes the conversation. Every result of a tool is a separate message.
func (w *chatWriter) messages(m *middle.Request) (all []object) {
	for _, one := range m.Messages {
		switch one.Role {
		case middle.ToolRole:
			all = append(all, w.results(one.Parts)...)
			continue
		case middle.Assistant:
			all = append(all, w.assistant(one.Parts))
		default:
			all = append(all, object{"role": one.Role, "content": w.content(one.Parts)})
		}
		all[len(all)-1].AddText("name", one.Name)
	}
	return all
}

// results writes results of tools. Their content can only be text; pictures follow in a message of the user.
func (w *chatWriter) results(parts []middle.Part) (all []object) {
	var images []middle.Part
	for _, p := range parts {
		texts := []string{}
		for _, in := range p.Parts {
			switch in.Kind {
			case middle.Text:
				texts = append(texts, in.Text)
			case middle.Image:
				images = append(images, in)
			default:
				w.Refuse("messages", "has a result of a tool with %s; experts with the protocol chat take only text there", in.Kind.Words())
			}
		}
		text := strings.Join(texts, "\n")
		if p.Failed {
			text = "Error: " + text
			w.Note("is_error became the word Error in the result's text")
		}
		all = append(all, object{"role": "tool", "tool_call_id": p.ID, "content": text})
	}
	if len(images) > 0 {
		w.Note("images in results of tools became a message of the user")
		all = append(all, object{"role": "user", "content": w.content(images)})
	}
	return all
}

// assistant writes a message of the model.
func (w *chatWriter) assistant(parts []middle.Part) object {
	out := object{"role": "assistant"}
	var content []middle.Part
	var calls []object
	for _, p := range parts {
		switch p.Kind {
		case middle.Call:
			calls = append(calls, object{"id": p.ID, "type": "function", "function": object{"name": p.Name, "arguments": p.Arguments}})
		case middle.Refusal:
			out["refusal"] = p.Text
		case middle.Reasoning:
			if p.Signer != "chat" {
				w.Note("reasoning of another service was left out")
				continue
			}
			out["reasoning_content"] = p.Text
		default:
			if len(calls) > 0 {
				w.Note("text after a call of a tool was put before it")
			}
			content = append(content, p)
		}
	}
	if out["content"] = any(nil); len(content) > 0 {
		out["content"] = w.content(content)
	}
	if len(calls) > 0 {
		out["tool_calls"] = calls
	}
	return out
}

// content writes one text as it is, and everything else as a list of parts.
func (w *chatWriter) content(parts []middle.Part) any {
	if len(parts) == 1 && parts[0].Kind == middle.Text {
		return parts[0].Text
	}
	list := []object{}
	for _, p := range parts {
		switch p.Kind {
		case middle.Text:
			list = append(list, object{"type": "text", "text": p.Text})
		case middle.Refusal:
			list = append(list, object{"type": "refusal", "refusal": p.Text})
		case middle.Image:
			list = append(list, w.image(p.Media))
		case middle.Audio:
			list = append(list, object{"type": "input_audio", "input_audio": object{"data": p.Media.Data, "format": strings.TrimPrefix(p.Media.Type, "audio/")}})
		case middle.File:
			list = append(list, w.file(p.Media))
		default:
			w.Refuse("messages", "has %s where experts with the protocol chat take none", p.Kind.Words())
		}
	}
	return list
}

// image writes an image.
func (w *chatWriter) image(m middle.Media) object {
	if m.FileID != "" {
		w.Refuse("messages", "has an image by the id of a file, which only the service that keeps the file knows")
	}
	url := object{"url": m.Link()}
	url.AddText("detail", m.Detail)
	return object{"type": "image_url", "image_url": url}
}

// file writes a file, which must have data.
func (w *chatWriter) file(m middle.Media) object {
	if m.Data == "" {
		w.Refuse("messages", "has a file without its data, which experts with the protocol chat do not take")
	}
	return object{"type": "file", "file": object{"filename": cmp.Or(m.Name, "file"), "file_data": m.Link()}}
}

// ChatMessages returns the conversation as the messages of a chat completion, for programs that read it later. A conversation
// that has no such form is returned as it came.
func ChatMessages(in *Incoming) json.RawMessage {
	if raw := in.Field("messages"); in.Format == Chat && raw != nil {
		return raw
	}
	w := &chatWriter{}
	messages := jsonedit.Encode(w.messages(in.Middle()))
	if w.Err != nil {
		return in.object.Text
	}
	return messages
}
