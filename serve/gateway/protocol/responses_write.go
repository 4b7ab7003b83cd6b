package protocol

import (
	"cmp"
	"strings"

	"pipe/serve/gateway/protocol/middle"
)

// Write writes a request.
func (f responses) Write(m *middle.Request, t Target) ([]byte, []string, error) {
	w := &responsesWriter{body: object{"model": t.Model, "store": false}}
	if m.Stream {
		w.body["stream"] = true
	}
	w.input(m)
	w.settings(m)
	w.tools(m)
	w.options(m)
	fill(w.body, t.Fields, nil)
	return w.Finish(w.body)
}

// responsesWriter writes a request, and notes what changed.
type responsesWriter struct {
	middle.Writer
	body object
}

// settings writes limits, reasoning and the form of the answer.
func (w *responsesWriter) settings(m *middle.Request) {
	if m.MaxTokens > 0 {
		w.body["max_output_tokens"] = m.MaxTokens
	}
	if len(m.Stop) > 0 {
		field := "stop"
		if m.From == "messages" {
			field = "stop_sequences"
		}
		w.Refuse(field, "cannot be passed on: the protocol responses has no such field")
	}
	w.body.AddText("user", m.User)
	if effort := w.Effort(m); effort != "" {
		w.body["reasoning"] = object{"effort": effort}
		w.body["include"] = []string{"reasoning.encrypted_content"} // so that the reasoning can be sent back
	}
	switch o := m.Output; o.Kind {
	case "json":
		w.body["text"] = object{"format": object{"type": "json_object"}}
	case "schema":
		o.Name = cmp.Or(o.Name, "answer")
		format := o.Object("schema")
		format["type"] = "json_schema"
		w.body["text"] = object{"format": format}
	}
}

// options writes the fields that the protocols have in common.
func (w *responsesWriter) options(m *middle.Request) {
	var rest []middle.Option
	for _, o := range m.Options {
		switch o.Name {
		case "verbosity":
			text, _ := w.body["text"].(object)
			if text == nil {
				text = object{}
			}
			text["verbosity"] = o.Value
			w.body["text"] = text
		case "store":
			w.body["store"] = o.Value
		default:
			rest = append(rest, o)
		}
	}
	w.Options(rest, w.body, responsesOptions.field)
}

// tools writes the tools and how they may be called.
func (w *responsesWriter) tools(m *middle.Request) {
	if len(m.Tools) == 0 {
		return
	}
	var tools []object
	for _, t := range m.Tools {
		tool := t.Object("parameters")
		tool["type"] = "function"
		if t.Strict == nil {
			tool["strict"] = false // the protocol's own default is true, which changes schemas
		}
		tools = append(tools, tool)
	}
	w.body["tools"] = tools
	w.body.AddBool("parallel_tool_calls", m.Parallel)
	switch c := m.Choice; c.Mode {
	case "":
	case "tool":
		w.body["tool_choice"] = object{"type": "function", "name": c.Name}
	default:
		w.body["tool_choice"] = c.Mode
	}
}

// input writes the conversation. Instructions of the system at its beginning have a separate field.
func (w *responsesWriter) input(m *middle.Request) {
	items := []object{}
	for i, one := range m.Messages {
		if one.Name != "" {
			w.Note("names of participants were left out")
		}
		switch {
		case i == 0 && one.Role == middle.System && len(one.Parts) == 1 && one.Parts[0].Kind == middle.Text:
			w.body["instructions"] = one.Parts[0].Text
		case one.Role == middle.Assistant:
			items = append(items, w.assistant(one.Parts)...)
		case one.Role == middle.ToolRole:
			for _, p := range one.Parts {
				items = append(items, w.result(p))
			}
		default:
			items = append(items, message(one.Role, w.content(one.Parts)))
		}
	}
	w.body["input"] = items
}

// message is a message of a role. Its type can be left out, but not all services guess it.
func message(role string, content any) object {
	return object{"type": "message", "role": role, "content": content}
}

// assistant writes what the model said, item by item.
func (w *responsesWriter) assistant(parts []middle.Part) (items []object) {
	for _, p := range parts {
		switch p.Kind {
		case middle.Text, middle.Refusal:
			items = append(items, message("assistant", p.Text))
		case middle.Call:
			items = append(items, object{"type": "function_call", "call_id": p.ID, "name": p.Name, "arguments": p.Arguments})
		case middle.Reasoning:
			if p.Signer != "responses" || p.Signature == "" {
				w.Note("reasoning of another service was left out")
				continue
			}
			items = append(items, reasoningItem(p))
		default:
			w.Refuse("messages", "has %s in an answer of the model, which experts with the protocol responses do not take", p.Kind.Words())
		}
	}
	return items
}

// reasoningItem writes reasoning with its signature.
func reasoningItem(p middle.Part) object {
	item := object{"type": "reasoning", "summary": []object{}}
	if p.Text != "" {
		item["summary"] = []object{{"type": "summary_text", "text": p.Text}}
	}
	id, sealed, ok := strings.Cut(p.Signature, "~")
	if p.Signer == "responses" && ok {
		item.AddText("id", id)
		item["encrypted_content"] = sealed
	} else if p.Signer != "responses" && p.Signer != "" {
		item["encrypted_content"] = p.Signer + ":" + p.Signature
	}
	return item
}

// result writes the result of a tool.
func (w *responsesWriter) result(p middle.Part) object {
	content := w.content(p.Parts)
	if p.Failed {
		w.Note("is_error became the word Error in the result's text")
		if text, ok := content.(string); ok {
			content = "Error: " + text
		} else {
			content = append([]object{{"type": "input_text", "text": "Error:"}}, content.([]object)...)
		}
	}
	return object{"type": "function_call_output", "call_id": p.ID, "output": content}
}

// content writes one text as it is, and everything else as a list of parts.
func (w *responsesWriter) content(parts []middle.Part) any {
	switch {
	case len(parts) == 0:
		return ""
	case len(parts) == 1 && parts[0].Kind == middle.Text:
		return parts[0].Text
	}
	list := []object{}
	for _, p := range parts {
		switch p.Kind {
		case middle.Text:
			list = append(list, object{"type": "input_text", "text": p.Text})
		case middle.Image:
			list = append(list, w.image(p.Media))
		case middle.File:
			list = append(list, w.file(p.Media))
		default:
			w.Refuse("messages", "has %s, which experts with the protocol responses do not take", p.Kind.Words())
		}
	}
	return list
}

// image writes an image.
func (w *responsesWriter) image(m middle.Media) object {
	if m.FileID != "" {
		w.Refuse("messages", "has an image by the id of a file, which only the service that keeps the file knows")
	}
	image := object{"type": "input_image", "image_url": m.Link(), "detail": cmp.Or(m.Detail, "auto")}
	return image
}

// file writes a file.
func (w *responsesWriter) file(m middle.Media) object {
	switch {
	case m.Data != "":
		return object{"type": "input_file", "filename": cmp.Or(m.Name, "file"), "file_data": m.Link()}
	case m.URL != "":
		return object{"type": "input_file", "file_url": m.URL}
	}
	w.Refuse("messages", "has a file by an id, which only the service that keeps it knows")
	return nil
}
