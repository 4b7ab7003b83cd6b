package chatjson

import (
	"encoding/json"
	"maps"
	"slices"

	"pipe/experts/fields"
	"pipe/serve/gateway/jsonedit"
)

// Fill sets the fields that a request does not have: those of advice, and default values where the advice has none. Objects
// of advice are merged value by value with those of the request and of the defaults. What the request has stays as it is.
func Fill(o *jsonedit.Object, defaults map[string]json.RawMessage, advice fields.Fields) {
	for _, name := range slices.Sorted(maps.Keys(advice)) {
		switch below, isObject := advice[name].(fields.Fields); {
		case !hasField(o, name):
			o.Set(name, valueOf(over(defaults[name], advice[name])))
		case isObject:
			fill(o, name, below)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		_, advised := advice[name]
		_, other := advice[Alias(name)]
		if !advised && !other && !hasField(o, name) && name != "stream_options" {
			o.Set(name, defaults[name])
		}
	}
}

// fill sets the values of an object of a request that it does not have. A field that is no object stays as it is.
func fill(o *jsonedit.Object, name string, values fields.Fields) {
	inner, err := jsonedit.ParseValid(jsonedit.OrNull(o.Get(name)))
	if err != nil {
		return
	}
	Fill(inner, nil, values)
	o.Set(name, inner.Bytes())
}

// over merges a value of advice over a default value, nil for none.
func over(under json.RawMessage, value any) any {
	var below fields.Fields
	above, isObject := value.(fields.Fields)
	if !isObject || under == nil || json.Unmarshal(under, &below) != nil {
		return value
	}
	return fields.Merge(below, above)
}

// valueOf encodes a value of fields that were checked.
func valueOf(v any) []byte {
	text, _ := json.Marshal(v) // Set.Validate has encoded it
	return text
}

// SetFields sets fields of advice in a request of any protocol, where the request does not have them. The text must be a valid
// JSON object.
func SetFields(text []byte, advice fields.Fields) ([]byte, error) {
	o, err := jsonedit.ParseValid(text)
	if err != nil {
		return nil, err
	}
	Fill(o, nil, advice)
	return o.Bytes(), nil
}

// Defaults are default values of fields with those that advice sets.
func Defaults(defaults map[string]json.RawMessage, advice fields.Fields) map[string]json.RawMessage {
	if advice == nil {
		return defaults
	}
	o, _ := jsonedit.ParseValid([]byte("{}"))
	Fill(o, defaults, advice)
	out := make(map[string]json.RawMessage)
	_ = json.Unmarshal(o.Bytes(), &out) // it was encoded here
	return out
}

// Contradicts returns the first field that a request sets to another value than the advice does, as the names that lead to it.
// Such a request would be answered under another advice than the one that was chosen. nil: there is none.
func Contradicts(o *jsonedit.Object, advice fields.Fields) []string {
	for _, name := range slices.Sorted(maps.Keys(advice)) {
		own := o.Get(name)
		if own == nil && Alias(name) != "" {
			own = o.Get(Alias(name))
		}
		if own == nil {
			continue
		}
		below, isObject := advice[name].(fields.Fields)
		inner, err := jsonedit.ParseValid(own)
		if isObject && err == nil {
			if path := Contradicts(inner, below); path != nil {
				return append([]string{name}, path...)
			}
			continue
		}
		if isObject || !sameValue(own, advice[name]) {
			return []string{name}
		}
	}
	return nil
}

// sameValue reports whether a text is a value in JSON.
func sameValue(text []byte, v any) bool {
	var own any
	if json.Unmarshal(text, &own) != nil {
		return false
	}
	a, errA := json.Marshal(own)
	return errA == nil && string(a) == string(valueOf(v))
}
