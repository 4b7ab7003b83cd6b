package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"

	"pipe/serve/access"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/responses"
)

// resumed is the response that a request goes on from.
type resumed struct {
	kept     *responses.Response
	original *protocol.Incoming // the request as it came, for the expert that has the response
}

// keyOf is the key of a response. Callers do not see each other's.
func (c *chat) keyOf(id string) string { return access.CallerOf(c.r.Context()).Name + "\x00" + id }

// resume puts the items of earlier responses in place of previous_response_id. It answers a request whose response is not
// known, and returns false. An expert that is called by name may know a response that is not kept here.
func (c *chat) resume() bool {
	id := c.request.PreviousResponse()
	if id == "" {
		return true
	}
	k := c.api.conversations.Get(c.keyOf(id))
	if k == nil {
		if e := c.named(c.request.Model); e != nil && e.Kind().Passes(protocol.Responses) {
			return true
		}
		c.fail(&failure{http.StatusBadRequest, invalidRequest, "previous_response_not_found", "previous_response_id", "Previous response with id '" + headerValue(id) + "' not found: it was not stored, or is no longer kept."}, "")
		return false
	}
	next, err := c.request.After(k.Items)
	if err == nil && len(next.Middle().Malformed) > 0 {
		err = next.Middle().Malformed[0]
	}
	if err != nil {
		c.fail(unreadable(err), "")
		return false
	}
	c.resumed = &resumed{k, c.request}
	c.request = next
	return true
}

// requestFor is the request for an expert. The one that gave the response gets the request as it came.
func (c *chat) requestFor(e *expert.Expert) *protocol.Incoming {
	if r := c.resumed; r != nil && r.kept.Expert == e.Name && e.Kind().Passes(protocol.Responses) {
		return r.original
	}
	return c.request
}

// keeps reports whether the conversation of this request is kept.
func (c *chat) keeps() bool {
	return c.request.Format == protocol.Responses && c.settings.Responses.Keep > 0 && string(c.request.Field("store")) != "false"
}

// keepWhole keeps a whole response by an expert, "" for none.
func (c *chat) keepWhole(by string, answer *expert.Answer) {
	if answer.Status == http.StatusOK && c.keeps() {
		c.keep(by, answer.Body)
	}
}

// watchEnd looks for the last event of a streamed response.
func (c *chat) watchEnd(raw []byte) {
	if c.keeps() && (bytes.Contains(raw, []byte("response.completed")) || bytes.Contains(raw, []byte("response.incomplete"))) {
		c.last = bytes.Clone(raw)
	}
}

// keepStream keeps a streamed response, which its last event has.
func (c *chat) keepStream(by string) {
	for line := range bytes.Lines(c.last) {
		var event struct {
			Type     string
			Response json.RawMessage
		}
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if ok && json.Unmarshal(data, &event) == nil && (event.Type == "response.completed" || event.Type == "response.incomplete") {
			c.keep(by, event.Response)
		}
	}
}

// keep keeps a response.
func (c *chat) keep(by string, body []byte) {
	var r struct {
		ID     string
		Output []json.RawMessage
	}
	if json.Unmarshal(body, &r) != nil || r.ID == "" {
		return
	}
	k := &responses.Response{Key: c.keyOf(r.ID), Expert: by}
	for _, item := range append(c.request.Items(), r.Output...) {
		k.Items = append(k.Items, bytes.Clone(item))
	}
	c.api.conversations.Put(k, c.settings.Responses)
}
