package expert

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"pipe/experts/fields"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/protocol/middle"
)

// writing is how a request of a caller is written for the service of an expert, and its answer for the caller. Between the
// same protocols both pass, but for the edits of the gateway.
type writing struct {
	expert    *Expert
	request   *protocol.Incoming
	add       *chatjson.Addition
	format    protocol.Format // of the service's side
	translate bool            // the caller has another one
	changed   []string        // by the translation, in words
	fields    fields.Fields   // that advice sets, in the service's protocol; nil: none
}

// writing returns how a request is written. The error is a *Failure: the expert cannot be under the advice.
func (e *Expert) writing(r *protocol.Incoming, add *chatjson.Addition) (*writing, error) {
	w := &writing{expert: e, request: r, add: add, format: r.Format}
	if !e.kind.Passes(r.Format) {
		w.format, w.translate = e.kind.Format, true
	}
	if add == nil || add.Fields == nil {
		return w, nil
	}
	if err := e.Lacks(add.Fields); err != nil { // such a pair is never chosen, but a canary may name it
		return nil, e.failure("fields", err, "its advice cannot be followed: %v", err)
	}
	set := *add.Fields
	if w.translate && r.OtherEffort(set.Effort) { // a protocol may have the caller's in another field than that of the advice
		set.Effort = ""
	}
	w.add, w.fields = nil, e.Fields(&set)
	return w, nil
}

// write returns the body for the service. The error is a *middle.FieldError.
func (w *writing) write(usage bool) (body []byte, err error) {
	e := w.expert
	if !w.translate {
		return w.request.With(chatjson.Change{Model: e.cfg.Model, Add: w.add, Usage: usage, Fields: e.fields, Advice: w.fields}), nil
	}
	body, w.changed, err = e.kind.Translate(w.request, w.add, protocol.Target{Model: e.cfg.Model, Usage: usage, Fields: chatjson.Defaults(e.fields, w.fields)})
	if err != nil || w.fields == nil {
		return body, err
	}
	return chatjson.SetFields(body, w.fields)
}

// sign signs a request, if the service needs that.
func (w *writing) sign(r *http.Request, body []byte) error {
	e := w.expert
	if e.kind.Sign == nil {
		return nil
	}
	if err := e.kind.Sign(r, body, string(e.key)); err != nil {
		return e.failure("connect", nil, "the request cannot be signed: %v", err)
	}
	return nil
}

// refuse is the answer to a request that cannot be written for this expert. Another one may have the caller's protocol.
func (e *Expert) refuse(r *protocol.Incoming, err error) *Answer {
	p := middle.Problem{Status: http.StatusBadRequest, Code: "not_translatable", Message: err.Error()}
	if field, ok := errors.AsType[*middle.FieldError](err); ok {
		p.Param = field.Param
	}
	h := make(http.Header)
	h.Set("Content-Type", "application/json")
	return &Answer{Status: http.StatusBadRequest, Header: h, Body: r.Format.Error(p), OtherMayAnswer: "its protocol does not take " + cmp.Or(p.Param, "the request")}
}

// answer returns a whole answer for the caller.
func (w *writing) answer(text []byte) ([]byte, error) {
	if !w.translate {
		return text, nil
	}
	return w.expert.kind.TranslateAnswer(text, w.request)
}

// refusal returns the body of a refusal for the caller.
func (w *writing) refusal(code int, text []byte) []byte {
	if !w.translate {
		return text
	}
	return w.request.Format.Error(protocol.ReadProblem(code, text))
}

// headerChanged is the response header with what a translation changed, in words.
const headerChanged = "X-Pipe-Changed"

// setHeader tells the caller what a translation changed.
func (w *writing) setHeader(h http.Header) {
	const most = 1000
	if text := strings.Join(w.changed, "; "); text != "" {
		h.Set(headerChanged, strings.ToValidUTF8(text[:min(len(text), most)], "?"))
	}
}

// notAnswer describes a text of a service that is no answer in its protocol.
func (w *writing) notAnswer(what string, err error) string {
	switch {
	case errors.Is(err, jsonedit.ErrRepeated):
		return what + " repeats a key, so that programs would read it differently"
	case w.format == protocol.Chat:
		return what + " is not a chat completion"
	}
	return what + " is not one of the protocol " + w.format.Name()
}
