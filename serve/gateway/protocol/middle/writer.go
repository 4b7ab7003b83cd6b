package middle

import (
	"slices"

	"pipe/serve/gateway/jsonedit"
)

// Writer collects what a translation of a request changes, and why there is none. The writer of each protocol embeds it.
type Writer struct {
	Changed []string // changes in words for the caller, each once
	Err     error    // the first reason why the request cannot be written, a *FieldError; nil: none
}

// Note notes a change, unless it was noted before.
func (w *Writer) Note(change string) {
	if !slices.Contains(w.Changed, change) {
		w.Changed = append(w.Changed, change)
	}
}

// Refuse keeps the error for a field of the caller that the protocol has no place for, unless there was one before.
func (w *Writer) Refuse(field, format string, args ...any) {
	if w.Err == nil {
		w.Err = FieldErrorf(field, format, args...)
	}
}

// Options adds options to an object. name is the name of an option's field there; "" means that the protocol has none, which is
// refused.
func (w *Writer) Options(options []Option, to Object, name func(option string) string) {
	for _, o := range options {
		if field := name(o.Name); field != "" {
			to[field] = o.Value
		} else {
			w.Refuse(o.Field, "cannot be passed on: the protocol of the expert has no such field")
		}
	}
}

// Effort is how much reasoning to ask for. A limit of its tokens becomes a word: up to 2,048 low, up to 8,192 medium, above high.
func (w *Writer) Effort(m *Request) string {
	if m.Effort != "" || m.Thinking == 0 {
		return m.Effort
	}
	w.Note("thinking.budget_tokens became an effort")
	switch {
	case m.Thinking <= 2048:
		return "low"
	case m.Thinking <= 8192:
		return "medium"
	}
	return "high"
}

// Finish returns the request as JSON and what changed, or the reason why it cannot be written.
func (w *Writer) Finish(body Object) ([]byte, []string, error) {
	if w.Err != nil {
		return nil, nil, w.Err
	}
	return jsonedit.Encode(body), w.Changed, nil
}

// Object is a JSON object that is written. Its fields are sorted by name.
type Object map[string]any

// AddText adds a field with a text that is not empty.
func (o Object) AddText(name, text string) {
	if text != "" {
		o[name] = text
	}
}

// AddBool adds a field with a value that is not nil.
func (o Object) AddBool(name string, b *bool) {
	if b != nil {
		o[name] = *b
	}
}

// AddList adds a field with a list that is not empty.
func (o Object) AddList(name string, list []Object) {
	if len(list) > 0 {
		o[name] = list
	}
}

// Object writes the schema as OpenAI's protocols and those like them have it; field is the name of the schema itself.
func (s NamedSchema) Object(field string) Object {
	out := Object{"name": s.Name}
	out.AddText("description", s.Description)
	if s.Schema != nil {
		out[field] = s.Schema
	}
	out.AddBool("strict", s.Strict)
	return out
}
