package protocol

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/protocol/middle"
)

// reader reads JSON values and notes what is wrong with them by the name of the field.
type reader struct {
	dots      bool // elements of lists are named a.0, not a[0]
	elements  int  // of lists that were read
	malformed []*middle.FieldError
	foreign   []*middle.FieldError
}

// Limits of what a request may have. Only the first problem is told.
const (
	maxElements = 100_000 // of all lists together
	maxProblems = 100
)

// wrong notes a value that no service could use.
func (r *reader) wrong(path, format string, args ...any) {
	if len(r.malformed) >= maxProblems {
		return
	}
	r.malformed = append(r.malformed, middle.FieldErrorf(path, format, args...))
}

// alien notes a value that has no place in the middle form.
func (r *reader) alien(path, format string, args ...any) {
	if len(r.foreign) >= maxProblems {
		return
	}
	r.foreign = append(r.foreign, middle.FieldErrorf(path, format, args...))
}

// at names an element of a list.
func (r *reader) at(path string, i int) string {
	if r.dots {
		return fmt.Sprintf("%s.%d", path, i)
	}
	return fmt.Sprintf("%s[%d]", path, i)
}

// in names a field of an object.
func in(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// object reads the fields of an object that are not null. A field that read does not know is noted as alien.
func (r *reader) object(path string, text json.RawMessage, read func(name, path string, v json.RawMessage) (known bool)) {
	o, err := jsonedit.ParseValid(jsonedit.OrNull(text))
	if err != nil {
		r.wrong(path, "must be an object")
		return
	}
	for _, f := range o.Fields {
		v := json.RawMessage(o.Text[f.From:f.End])
		if string(v) != "null" && !read(f.Name, in(path, f.Name), v) {
			r.alien(in(path, f.Name), "has no counterpart in another protocol")
		}
	}
}

// members are the fields of an object that are known, and how each is read.
type members map[string]func(path string, v json.RawMessage)

// members reads an object. Fields that are not known are noted as alien.
func (r *reader) members(path string, text json.RawMessage, known members) {
	r.object(path, text, func(name, path string, v json.RawMessage) bool {
		read, ok := known[name]
		if ok {
			read(path, v)
		}
		return ok
	})
}

// ignored reads a field that says nothing by itself.
func ignored(string, json.RawMessage) {}

// textTo reads a text into a variable.
func (r *reader) textTo(to *string) func(path string, v json.RawMessage) {
	return func(path string, v json.RawMessage) { *to = r.text(path, v) }
}

// list reads the elements of a list.
func (r *reader) list(path string, text json.RawMessage, read func(path string, v json.RawMessage)) {
	elements, ok := jsonedit.List(text)
	if !ok {
		r.wrong(path, "must be a list")
		return
	}
	i := 0
	for e := range elements {
		if r.elements++; r.elements > maxElements {
			r.malformed = append(r.malformed[:0], middle.FieldErrorf(path, "makes the request have more than %d elements of lists", maxElements))
			return
		}
		read(r.at(path, i), text[e.From:e.End:e.End])
		i++
	}
}

// value decodes a value; what says what it must be.
func (r *reader) value(path string, v json.RawMessage, to any, what string) {
	if json.Unmarshal(v, to) != nil {
		r.wrong(path, "must be %s", what)
	}
}

// text reads a text.
func (r *reader) text(path string, v json.RawMessage) (s string) {
	r.value(path, v, &s, "a text")
	return s
}

// bool reads true or false.
func (r *reader) bool(path string, v json.RawMessage) (b bool) {
	r.value(path, v, &b, "true or false")
	return b
}

// count reads a whole number of at least 1.
func (r *reader) count(path string, v json.RawMessage) (n int64) {
	if json.Unmarshal(v, &n) != nil || n < 1 {
		r.wrong(path, "must be a whole number of at least 1")
	}
	return n
}

// isText reports whether a value is a text.
func isText(v json.RawMessage) bool { return len(v) > 0 && v[0] == '"' }

// typeOf is the field type of an object, "" without one.
func typeOf(v json.RawMessage) string {
	var t struct{ Type string }
	_ = json.Unmarshal(v, &t) // "" for what has no type
	return t.Type
}

// schema reads a JSON schema, which is an object.
func (r *reader) schema(path string, v json.RawMessage) json.RawMessage {
	if v[0] != '{' {
		r.wrong(path, "must be a JSON schema, which is an object")
	}
	return v
}

// arguments reads the arguments of a call as text: they must be a JSON object. Some models write none.
func (r *reader) arguments(path, text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}"
	}
	if _, err := jsonedit.Parse([]byte(text)); err != nil {
		r.wrong(path, "must be a JSON object as text, the arguments of a call")
	}
	return text
}

// mediaURL reads a link or a data URL.
func (r *reader) mediaURL(path, url string) (m middle.Media) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") {
			r.wrong(path, "must be a link or a data URL")
		}
		return middle.Media{URL: url}
	}
	kind, data, ok := strings.Cut(rest, ";base64,")
	if !ok || kind == "" {
		r.wrong(path, "must be a data URL such as data:image/png;base64,...")
	}
	m.Type, m.Data = kind, data
	r.base64(path, data)
	return m
}

// base64 checks data in base64.
func (r *reader) base64(path, data string) {
	if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" {
		r.wrong(path, "must be data in base64")
	}
}

// image checks the kind of an image's data.
func (r *reader) image(path string, m middle.Media) {
	if m.Data != "" && !strings.HasPrefix(m.Type, "image/") {
		r.wrong(path, "is no image, but %.40q", m.Type)
	}
}

// options are fields with the same name, meaning and form in several protocols, with the value that means the same as no such
// field, "" for none.
type options map[string]string

// read reads a field as an option. The value that means the same as no such field is left out.
func (o options) read(m *middle.Request, field string, v json.RawMessage) (known bool) {
	absent, known := o[field]
	if known && string(v) != absent {
		m.Options = append(m.Options, middle.Option{Name: field, Field: field, Value: v})
	}
	return known
}

// field is the name of an option's field, "" for none.
func (o options) field(name string) string {
	if _, known := o[name]; known {
		return name
	}
	return ""
}

// parts reads a text or a list of parts.
func (r *reader) parts(path string, v json.RawMessage, part func(path string, v json.RawMessage) middle.Part) (all []middle.Part) {
	if isText(v) {
		return []middle.Part{{Kind: middle.Text, Text: r.text(path, v)}}
	}
	r.list(path, v, func(path string, v json.RawMessage) { all = append(all, part(path, v)) })
	return all
}

// namedSchema reads a tool or the form of an answer. schema is the name of the schema itself.
func (r *reader) namedSchema(to *middle.NamedSchema, schema string) members {
	return members{
		"name": r.textTo(&to.Name), "description": r.textTo(&to.Description),
		schema:   func(path string, v json.RawMessage) { to.Schema = r.schema(path, v) },
		"strict": func(path string, v json.RawMessage) { to.Strict = new(r.bool(path, v)) },
	}
}
