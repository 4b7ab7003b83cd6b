package chatjson

import (
	"encoding/json"
	"slices"
	"strings"
)

// Names of what describes a part of an answer, and is none itself.
var (
	labelsOfParts = []string{"type", "index", "id", "format", "signature", "annotations"}
	labelsOfCalls = []string{"type", "index"}
)

// content are the fields of a message, or of a part of one in a stream, that are something of an answer. Each is one if it has
// a text that is not blank, apart from its labels. Services send many other fields, often in every answer.
var content = map[string][]string{
	"content": labelsOfParts, "refusal": labelsOfParts, "images": labelsOfParts,
	"reasoning_content": labelsOfParts, "reasoning": labelsOfParts, "reasoning_details": labelsOfParts,
	"thinking": labelsOfParts, "thinking_blocks": labelsOfParts,
	"tool_calls": labelsOfCalls, "function_call": labelsOfCalls, "audio": labelsOfCalls,
}

// hasContent reports whether a choice has something of an answer.
func hasContent(choice *Object) bool {
	for _, name := range []string{"message", "delta"} {
		part, err := ofValid(orNull(choice.Get(name)))
		if err != nil {
			continue
		}
		for _, f := range part.fields {
			if labels, ok := content[f.name]; ok && hasText(part.text[f.from:f.end], labels) {
				return true
			}
		}
	}
	return false
}

// hasText reports whether a value is a text that is not blank, or a list or an object with such a text. Fields with the names of
// labels are not looked at. The value must be valid JSON.
func hasText(value []byte, labels []string) bool {
	switch value[0] {
	case '"':
		return !isBlank(value)
	case '[':
		elements, _ := list(value)
		for e := range elements {
			if hasText(value[e.from:e.end], labels) {
				return true
			}
		}
	case '{':
		o, err := ofValid(value)
		return err == nil && slices.ContainsFunc(o.fields, func(f field) bool {
			return !slices.Contains(labels, f.name) && hasText(value[f.from:f.end], labels)
		})
	}
	return false
}

// isBlank reports whether a string of JSON has nothing but white space.
func isBlank(quoted []byte) bool {
	if first := quoted[1]; first > ' ' && first < 0x7f && first != '"' && first != '\\' {
		return false // most texts: they need not be read
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && strings.TrimSpace(text) == ""
}
