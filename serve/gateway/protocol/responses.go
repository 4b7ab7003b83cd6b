package protocol

import (
	"encoding/json"
	"slices"

	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// Responses is OpenAI's protocol of responses.
var Responses Caller = responses{}

type responses struct{}

// Name is responses.
func (responses) Name() string { return "responses" }

// responsesRequest is a request that is edited in place.
type responsesRequest struct{ object *jsonedit.Object }

// ReadRequest reads a request as it came.
func (f responses) ReadRequest(text []byte) (*Incoming, error) {
	r, err := readIncoming(f, text, "a response", "")
	if err != nil {
		return nil, err
	}
	r.body, r.Usage = responsesRequest{r.object}, true
	_ = json.Unmarshal(jsonedit.OrNull(r.Field("user")), &r.User) // another form is the service's to refuse
	if input := r.Field("input"); input != nil && !isText(input) && count(input) == 0 {
		return nil, &middle.FieldError{Param: "input", Msg: "must be a text or a list with at least one item"}
	}
	return r, nil
}

// With returns the bytes of the request after a change.
func (r responsesRequest) With(c chatjson.Change) []byte {
	o := r.object.Copy()
	o.Set("model", jsonedit.Quote(c.Model))
	if input := o.Get("input"); c.Add != nil && input != nil {
		item := jsonedit.Encode(object{"role": c.Add.Role, "content": c.Add.Text})
		if isText(input) {
			items := []json.RawMessage{userItem(input)}
			o.Set("input", jsonedit.Encode(slices.Insert(items, c.Add.At.Index(1, 0), json.RawMessage(item))))
		} else {
			o.Insert("input", c.Add.At.Index(count(input), lastUserItem(input)), item)
		}
	}
	chatjson.Fill(o, c.Fields, c.Advice)
	return o.Bytes()
}

// userItem is the item that a text stands for.
func userItem(text json.RawMessage) json.RawMessage {
	return jsonedit.Encode(object{"type": "message", "role": "user", "content": text})
}

// lastUserItem is the index of the last message of the user, -1 if there is none.
func lastUserItem(input json.RawMessage) int {
	last, n := -1, 0
	elements, _ := jsonedit.List(input)
	for e := range elements {
		if item, err := jsonedit.ParseValid(input[e.From:e.End]); err == nil && string(item.Get("role")) == `"user"` {
			last = n
		}
		n++
	}
	return last
}

// Items are the items of the input of a request for a response; a text is one.
func (in *Incoming) Items() (items []json.RawMessage) {
	input := in.Field("input")
	if input == nil {
		return nil
	}
	if isText(input) {
		return []json.RawMessage{userItem(input)}
	}
	elements, _ := jsonedit.List(input)
	for e := range elements {
		items = append(items, input[e.From:e.End:e.End])
	}
	return items
}

// After returns a request for a response that has the items of earlier ones in place of their id. Reasoning that only the
// service has is left out.
func (in *Incoming) After(earlier []json.RawMessage) (*Incoming, error) {
	var all []json.RawMessage
	for _, item := range earlier {
		o, err := jsonedit.ParseValid(item)
		if err == nil && string(o.Get("type")) == `"reasoning"` && o.Get("encrypted_content") == nil {
			continue
		}
		all = append(all, item)
	}
	o := in.object.Copy()
	o.Set("input", jsonedit.Encode(append(all, in.Items()...)))
	o.Set("previous_response_id", []byte("null"))
	next, err := in.Format.ReadRequest(o.Bytes())
	if err == nil {
		next.previous = in.PreviousResponse()
	}
	return next, err
}

// Error is the body of a response with an error.
func (responses) Error(p middle.Problem) []byte { return openAIError(p) }

// ErrorEvent is the last event of a stream that failed. Clients read the error in one of two places.
func (responses) ErrorEvent(p middle.Problem) []byte {
	body := map[string]json.RawMessage{}
	_ = json.Unmarshal(openAIError(p), &body) // it was just written
	var e map[string]json.RawMessage
	_ = json.Unmarshal(body["error"], &e) // as above
	return namedEvent("error", object{"type": "error", "message": e["message"], "code": e["code"], "param": e["param"], "error": e})
}
