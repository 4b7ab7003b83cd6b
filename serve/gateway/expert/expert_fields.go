package expert

import (
	"bytes"
	"net/http"
	"slices"

	"pipe/experts/fields"
	"pipe/serve/gateway/chatjson"
)

// Lacks is an error if the expert cannot be under advice that sets fields: its protocol has no such fields, or it is known not to
// accept the effort.
func (e *Expert) Lacks(set *fields.Set) error { return set.Lacks(fields.OpenAI, e.cfg.Efforts) }

// Fields are what advice sets in the requests to the expert; nil: nothing.
func (e *Expert) Fields(set *fields.Set) fields.Fields { return set.Of(fields.OpenAI) }

// advise puts what advice adds into a change of a request.
func (e *Expert) advise(change *chatjson.Change, add *chatjson.Addition) error {
	if add == nil || add.Fields == nil {
		change.Add = add
		return nil
	}
	if err := e.Lacks(add.Fields); err != nil { // such a pair is never chosen, but a canary may name it
		return e.failure("fields", err, "its advice cannot be followed: %v", err)
	}
	change.Advice = e.Fields(add.Fields)
	return nil
}

// refusesFields reports whether a refused request names a field that the advice had set. Another advice may do.
func refusesFields(code int, text []byte, advice fields.Fields) bool {
	if code != http.StatusBadRequest && code != http.StatusUnprocessableEntity {
		return false
	}
	return slices.ContainsFunc(fields.Paths(advice), func(path []string) bool {
		return slices.ContainsFunc(path, func(name string) bool {
			return name != "type" && bytes.Contains(text, []byte(name)) // every error has a type
		})
	})
}
