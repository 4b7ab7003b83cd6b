package chatjson

import (
	"bytes"
	"encoding/json"
)

// Limits bound what a call can use.
type Limits struct {
	In  int64 // most tokens of the prompt
	Out int64 // most tokens of all answers together; 0: not known
	// Field is the field of the request that should say Out; "": it has none.
	Field string
}

// mostOfMedia is the most tokens that one picture, sound or file of a request is taken to have beside its bytes: such a part can be
// a link of a few bytes.
const mostOfMedia = 32768

// mostOfTools is the most tokens that a service adds to a prompt with tools, to say how they are called.
const mostOfTools = 1024

// Limits are those of the request itself, without what is added to it.
func (r *Request) Limits() Limits { return LimitsOf(r.With(Change{Model: r.Model})) }

// LimitsOf reads the limits of a request as it is sent. A token of a text has at least a byte, and the frame of a message has fewer
// tokens than its bytes in JSON.
func LimitsOf(body []byte) Limits {
	var q struct {
		Max        json.RawMessage `json:"max_tokens"`
		Completion json.RawMessage `json:"max_completion_tokens"`
		N          json.RawMessage `json:"n"`
	}
	l := Limits{In: int64(len(body))}
	for _, name := range []string{`"image_url"`, `"input_audio"`, `"file"`} {
		l.In += int64(bytes.Count(body, []byte(name))) * mostOfMedia
	}
	if bytes.Contains(body, []byte(`"tools"`)) {
		l.In += mostOfTools
	}
	if json.Unmarshal(body, &q) != nil {
		return l
	}
	switch {
	case q.Completion != nil:
		l.Field = "max_completion_tokens"
	case q.Max != nil:
		l.Field = "max_tokens"
	}
	l.Out = max(count(q.Max), count(q.Completion)) * max(1, count(q.N))
	return l
}

// count reads a whole number from 1 to a billion; 0 for anything else.
func count(text json.RawMessage) (n int64) {
	if json.Unmarshal(orNull(text), &n) != nil || n < 0 || n > 1e9 {
		return 0
	}
	return n
}
