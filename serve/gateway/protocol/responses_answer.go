package protocol

import (
	"encoding/json"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// responseBody is a response as a service sends it.
type responseBody struct {
	ID, Model, Status string
	Output            json.RawMessage
	Usage             json.RawMessage
	Error             json.RawMessage
	Incomplete        struct{ Reason string } `json:"incomplete_details"`
}

// finish says why a response ended, "" if it did not.
func (b *responseBody) finish(calls bool) middle.Finish {
	switch {
	case b.Status == "incomplete" && b.Incomplete.Reason == "content_filter":
		return middle.Filter
	case b.Status == "incomplete":
		return middle.Length
	case b.Status != "completed":
		return ""
	case calls:
		return middle.Calls
	}
	return middle.Stop
}

// Read reads a whole answer.
func (responses) Read(text []byte) (*middle.Answer, error) {
	b, err := jsonedit.Decode[responseBody](text)
	if err != nil {
		return nil, err
	}
	if len(b.Output) == 0 {
		return nil, &middle.FieldError{Param: "output", Msg: "is missing"}
	}
	r := &responsesReader{messagesReader{reader{}, &middle.Request{}}}
	r.list("output", b.Output, r.item)
	a := &middle.Answer{ID: b.ID, Model: b.Model, Usage: readUsage(b.Usage), Foreign: append(r.foreign, r.malformed...)}
	calls := false
	for _, m := range r.to.Messages {
		a.Parts = append(a.Parts, m.Parts...)
		for _, p := range m.Parts {
			calls = calls || p.Kind == middle.Call
		}
	}
	a.Finish = b.finish(calls)
	return a, nil
}

// echoed are the fields of a request that its response repeats, with the value where the request does not have them.
var echoed = map[string]any{
	"instructions": nil, "max_output_tokens": nil, "metadata": object{}, "parallel_tool_calls": true, "previous_response_id": nil,
	"reasoning": object{"effort": nil, "summary": nil}, "store": true, "temperature": nil, "text": object{"format": object{"type": "text"}},
	"tool_choice": "auto", "tools": []object{}, "top_p": nil, "truncation": "disabled", "user": nil,
}

// responseObject is a response without output.
func responseObject(id, model, status string, created int64, to *Incoming) object {
	out := object{
		"id": id, "object": "response", "created_at": created, "status": status, "model": model, "output": []object{},
		"error": nil, "incomplete_details": nil, "usage": nil,
	}
	for name, v := range echoed {
		out[name] = v
		if given := to.Field(name); given != nil {
			out[name] = given
		}
	}
	if to.previous != "" {
		out["previous_response_id"] = to.previous
	}
	return out
}

// endResponse sets how a response ended.
func endResponse(r object, f middle.Finish, u middle.Usage) {
	r["status"] = "completed"
	switch f {
	case middle.Length:
		r["status"], r["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	case middle.Filter:
		r["status"], r["incomplete_details"] = "incomplete", object{"reason": "content_filter"}
	}
	if u.Reported {
		r["usage"] = object{
			"input_tokens": u.In, "input_tokens_details": object{"cached_tokens": u.Cached}, "output_tokens": u.Out,
			"output_tokens_details": object{"reasoning_tokens": u.Reasoning}, "total_tokens": u.In + u.Out,
		}
	}
}

// WriteAnswer writes a whole answer.
func (responses) WriteAnswer(a *middle.Answer, to *Incoming) ([]byte, error) {
	out := responseObject(newID("resp_"), a.Model, "completed", now().Unix(), to)
	output := []object{}
	for _, p := range a.Parts {
		item := outputItem(p)
		if item == nil {
			return nil, middle.FieldErrorf("answer", "has %s, which the protocol responses has no place for", p.Kind.Words())
		}
		output = append(output, item)
	}
	out["output"] = output
	endResponse(out, a.Finish, a.Usage)
	return jsonedit.Encode(out), nil
}

// outputItem is the item of a whole part, nil for one that the protocol has no place for.
func outputItem(p middle.Part) object {
	switch p.Kind {
	case middle.Text, middle.Refusal:
		return object{"type": "message", "id": newID("msg_"), "status": "completed", "role": "assistant", "content": []object{outputText(p)}}
	case middle.Call:
		return object{"type": "function_call", "id": newID("fc_"), "status": "completed", "call_id": p.ID, "name": p.Name, "arguments": p.Arguments}
	case middle.Reasoning:
		item := reasoningItem(p)
		if _, ok := item["id"]; !ok {
			item["id"] = newID("rs_")
		}
		return item
	}
	return nil
}

// outputText is the part of a text.
func outputText(p middle.Part) object {
	if p.Kind == middle.Refusal {
		return object{"type": "refusal", "refusal": p.Text}
	}
	return object{"type": "output_text", "text": p.Text, "annotations": []object{}, "logprobs": []object{}}
}
