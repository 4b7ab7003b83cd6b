package protocol

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pipe/serve/gateway/protocol/middle"
)

// Write writes a request.
func (f messages) Write(m *middle.Request, t Target) ([]byte, []string, error) {
	w := &messagesWriter{body: object{"model": t.Model}}
	if m.Stream {
		w.body["stream"] = true
	}
	w.conversation(m)
	w.limits(m, t)
	w.tools(m)
	w.options(m)
	fill(w.body, t.Fields, nil)
	return w.Finish(w.body)
}

// messagesWriter writes a request, and notes what changed.
type messagesWriter struct {
	middle.Writer
	body object
}

// Limits of tokens. Anthropic's protocol requires a limit of the answer.
const (
	messagesMaxTokens = 4096 // if neither the caller nor the settings of the expert name one
	leastThinking     = 1024 // that the protocol accepts
)

// thinkingOf are the tokens of reasoning for an effort.
var thinkingOf = map[string]int64{"minimal": leastThinking, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}

// limits writes the limit of tokens, the reasoning, the stop sequences and the user.
func (w *messagesWriter) limits(m *middle.Request, t Target) {
	thinking := w.thinking(m)
	limit := m.MaxTokens
	if limit == 0 && json.Unmarshal(t.Fields["max_tokens"], &limit) != nil {
		limit = messagesMaxTokens + thinking
		w.Note("max_tokens, which the expert's protocol requires, is " + strconv.FormatInt(limit, 10))
	}
	w.body["max_tokens"] = limit
	if thinking = min(thinking, limit/2); thinking >= leastThinking {
		w.body["thinking"] = object{"type": "enabled", "budget_tokens": thinking}
	} else if thinking > 0 {
		w.Note("reasoning was not asked for: max_tokens leaves no room for it")
	}
	if len(m.Stop) > 0 {
		w.body["stop_sequences"] = m.Stop
	}
	if m.User != "" {
		w.body["metadata"] = object{"user_id": m.User}
	}
	switch o := m.Output; o.Kind {
	case "schema":
		w.body["output_config"] = object{"format": object{"type": "json_schema", "schema": o.Schema}}
	case "json":
		w.Refuse("response_format", "asks for any JSON object, which experts with the protocol messages cannot be asked for; a JSON schema can")
	}
}

// thinking is the tokens of reasoning to ask for, 0 for none. The protocol wants the signed reasoning before calls whose results
// are sent back; a conversation without it cannot go on with reasoning.
func (w *messagesWriter) thinking(m *middle.Request) int64 {
	budget := m.Thinking
	if budget == 0 {
		budget = thinkingOf[m.Effort]
	}
	if budget == 0 {
		return 0
	}
	if m.Choice.Mode == "required" || m.Choice.Mode == "tool" {
		w.Note("reasoning was not asked for: the protocol has none where a tool must be called")
		return 0
	}
	if m.ToolLoopOpen() && !signed(m) {
		w.Note("reasoning was not asked for: the calls in the conversation come without it")
		return 0
	}
	if m.Thinking == 0 {
		w.Note("the effort became " + strconv.FormatInt(budget, 10) + " tokens of reasoning at most")
	}
	return max(budget, leastThinking)
}

// signed reports whether the last message of the model with calls has the service's reasoning.
func signed(m *middle.Request) bool {
	for _, one := range slices.Backward(m.Messages) {
		if one.Role == middle.Assistant {
			return slices.ContainsFunc(one.Parts, func(p middle.Part) bool { return p.Kind == middle.Reasoning && p.Signer == "messages" })
		}
	}
	return false
}

// messagesHints are options that only tell a service how to keep its cache.
var messagesHints = []string{"prompt_cache_key", "prompt_cache_retention"}

// notWhileThinking are options that the protocol refuses together with reasoning.
var notWhileThinking = []string{"temperature", "top_p", "top_k"}

// options writes the fields that the protocols have in common.
func (w *messagesWriter) options(m *middle.Request) {
	for _, o := range m.Options {
		var n float64
		switch {
		case o.Name == "safety_identifier" && m.User == "":
			var id string
			_ = json.Unmarshal(o.Value, &id) // what is no text is left out
			w.body["metadata"] = object{"user_id": id}
			continue
		case slices.Contains(messagesHints, o.Name), o.Name == "safety_identifier":
			w.Note(o.Field + " was left out")
			continue
		case w.body["thinking"] != nil && slices.Contains(notWhileThinking, o.Name) && string(o.Value) != "1":
			w.Note(o.Field + " was left out: the protocol takes none with reasoning")
			continue
		case o.Name == "temperature" && json.Unmarshal(o.Value, &n) == nil && n > 1:
			w.Refuse(o.Field, "is above 1, which experts with the protocol messages do not take")
			continue
		}
		w.Options([]middle.Option{o}, w.body, messagesOptions.field)
	}
}

// tools writes the tools and how they may be called.
func (w *messagesWriter) tools(m *middle.Request) {
	if len(m.Tools) == 0 {
		return
	}
	var tools []object
	for _, t := range m.Tools {
		tool := object{"name": t.Name, "input_schema": t.Schema}
		if t.Schema == nil {
			tool["input_schema"] = object{"type": "object"}
		}
		tool.AddText("description", t.Description)
		if t.Strict != nil && *t.Strict {
			tool["strict"] = true
		}
		tools = append(tools, tool)
	}
	w.body["tools"] = tools
	choice := object{}
	switch m.Choice.Mode {
	case "required":
		choice["type"] = "any"
	case "tool":
		choice["type"], choice["name"] = "tool", m.Choice.Name
	default:
		choice["type"] = cmp.Or(m.Choice.Mode, "auto")
	}
	one := m.Parallel != nil && !*m.Parallel
	if one && choice["type"] != "none" {
		choice["disable_parallel_tool_use"] = true
	}
	if m.Choice.Mode != "" || one {
		w.body["tool_choice"] = choice
	}
}

// conversation writes the system's instructions and the messages. Neighbours of one role become one message.
func (w *messagesWriter) conversation(m *middle.Request) {
	var system []object
	var all []object
	var roles []string
	for _, one := range m.Messages {
		role := one.Role
		isSystem := role == middle.System || role == middle.Developer
		if isSystem && len(all) == 0 {
			system = append(system, w.blocks(one.Parts)...)
			continue
		}
		if isSystem {
			w.Note("a message of the system within the conversation became one of the user")
		}
		if role != middle.Assistant {
			role = middle.User
		}
		if one.Name != "" {
			w.Note("names of participants were left out")
		}
		blocks := w.blocks(one.Parts)
		if n := len(all); n > 0 && roles[n-1] == role {
			all[n-1]["content"] = append(all[n-1]["content"].([]object), blocks...)
			continue
		}
		all, roles = append(all, object{"role": role, "content": blocks}), append(roles, role)
	}
	for _, one := range all {
		one["content"] = plain(one["content"].([]object))
	}
	if w.body["messages"] = all; all == nil {
		w.Refuse("messages", "has only instructions of the system, and experts with the protocol messages need one of the user")
	}
	if len(system) > 0 {
		w.body["system"] = plain(system)
	}
}

// plain writes a single text as it is.
func plain(blocks []object) any {
	if len(blocks) == 1 && blocks[0]["type"] == "text" {
		return blocks[0]["text"]
	}
	return blocks
}

// blocks writes parts.
func (w *messagesWriter) blocks(parts []middle.Part) []object {
	all := []object{}
	for _, p := range parts {
		switch p.Kind {
		case middle.Text, middle.Refusal:
			if p.Text == "" && len(parts) > 1 {
				w.Note("empty texts were left out")
				continue
			}
			all = append(all, object{"type": "text", "text": p.Text})
		case middle.Image:
			all = append(all, object{"type": "image", "source": w.source(p.Media)})
		case middle.File:
			all = append(all, w.document(p.Media))
		case middle.Call:
			all = append(all, object{"type": "tool_use", "id": w.id(p.ID), "name": p.Name, "input": json.RawMessage(p.Arguments)})
		case middle.Result:
			all = append(all, w.result(p))
		case middle.Reasoning:
			if p.Signer != "messages" || p.Signature == "" {
				w.Note("reasoning of another service was left out")
				continue
			}
			all = append(all, writeThinking(p, "messages"))
		default:
			w.Refuse("messages", "has %s, which experts with the protocol messages do not take", p.Kind.Words())
		}
	}
	return all
}

// badID are the characters that an id of a call must not have.
var badID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// id is the id of a call as the protocol takes it.
func (w *messagesWriter) id(id string) string {
	good := badID.ReplaceAllString(id, "_")
	if good != id {
		w.Note("other characters than letters, digits, _ and - in ids of calls became _")
	}
	return good
}

// result writes the result of a tool.
func (w *messagesWriter) result(p middle.Part) object {
	out := object{"type": "tool_result", "tool_use_id": w.id(p.ID)}
	if len(p.Parts) > 0 {
		out["content"] = plain(w.blocks(p.Parts))
	}
	if p.Failed {
		out["is_error"] = true
	}
	return out
}

// source writes where the data of an image or a document are.
func (w *messagesWriter) source(m middle.Media) object {
	if m.Detail != "" && m.Detail != "auto" {
		w.Note("the detail of images was left out")
	}
	switch {
	case m.Data != "":
		return object{"type": "base64", "media_type": m.Type, "data": m.Data}
	case m.URL != "":
		return object{"type": "url", "url": m.URL}
	}
	w.Refuse("messages", "has an image or a file by an id, which only the service that keeps it knows")
	return nil
}

// document writes a file: a PDF or a text.
func (w *messagesWriter) document(m middle.Media) object {
	out := object{"type": "document"}
	out.AddText("title", m.Name)
	text, err := base64.StdEncoding.DecodeString(m.Data)
	switch {
	case m.Data == "" || m.Type == "application/pdf":
		out["source"] = w.source(m)
	case err == nil && strings.HasPrefix(m.Type, "text/"):
		out["source"] = object{"type": "text", "media_type": "text/plain", "data": string(text)}
	default:
		w.Refuse("messages", "has a file of the kind %.60q; experts with the protocol messages take PDF and text", m.Type)
	}
	return out
}
