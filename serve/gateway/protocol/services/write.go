package services

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"

	"pipe/serve/gateway/protocol/middle"
)

// object is a JSON object that is written.
type object = middle.Object

// newID is a random id.
func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return prefix + hex.EncodeToString(b[:])
}

// problemOf reads the error in an event: a text, or an object with a message.
func problemOf(event []byte) middle.Problem {
	var body struct{ Error json.RawMessage }
	var e struct{ Message, Status, Code any }
	_ = json.Unmarshal(event, &body) // it was read before
	if json.Unmarshal(body.Error, &e) != nil {
		var text string
		_ = json.Unmarshal(body.Error, &text) // what is no text has no message
		return middle.Problem{Message: cmp.Or(text, "the service sent an error")}
	}
	word := func(v any) string {
		s, _ := v.(string)
		return s
	}
	return middle.Problem{Message: cmp.Or(word(e.Message), string(body.Error)), Code: cmp.Or(word(e.Status), word(e.Code))}
}
