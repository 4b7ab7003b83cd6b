package expert

import (
	"bytes"
	"net/http"
	"slices"

	"pipe/experts/fields"
	"pipe/serve/gateway/protocol"
)

// fieldsOf are the names by which fields of advice know the protocols, by the names of formats that differ.
var fieldsOf = map[string]string{protocol.Chat.Name(): fields.OpenAI, protocol.Messages.Name(): fields.Anthropic}

// FieldProtocol is the name by which fields of advice know a protocol.
func FieldProtocol(f protocol.Format) string {
	if name, ok := fieldsOf[f.Name()]; ok {
		return name
	}
	return f.Name()
}

// Lacks is an error if the expert cannot be under advice that sets fields: its protocol has no such fields, or it is known not to
// accept the effort.
func (e *Expert) Lacks(set *fields.Set) error {
	return set.Lacks(FieldProtocol(e.kind.Format), e.cfg.Efforts)
}

// Fields are what advice sets in the requests to the expert; nil: nothing.
func (e *Expert) Fields(set *fields.Set) fields.Fields {
	return set.Of(FieldProtocol(e.kind.Format))
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
