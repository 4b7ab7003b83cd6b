package chatjson

import (
	"encoding/json"
	"slices"
	"strings"

	"pipe/serve/gateway/jsonedit"
)

// Fields that describe a part of an answer, and are no content themselves.
var (
	partLabels = []string{"type", "index", "id", "format", "signature", "annotations"}
	callLabels = []string{"type", "index"}
)

// contentFields are the fields of a message, or of a delta in a stream, that can have content, with their label fields. A
// field has content if it has a text that is not blank outside of its labels. Services send many other fields, often in
// every answer.
var contentFields = map[string][]string{
	"content": partLabels, "refusal": partLabels, "images": partLabels,
	"reasoning_content": partLabels, "reasoning": partLabels, "reasoning_details": partLabels,
	"thinking": partLabels, "thinking_blocks": partLabels,
	"tool_calls": callLabels, "function_call": callLabels, "audio": callLabels,
}

// hasContent reports whether a choice has content.
func hasContent(choice *jsonedit.Object) bool {
	for _, name := range []string{"message", "delta"} {
		part, err := jsonedit.ParseValid(jsonedit.OrNull(choice.Get(name)))
		if err != nil {
			continue
		}
		for _, f := range part.Fields {
			if labels, ok := contentFields[f.Name]; ok && hasText(part.Text[f.From:f.End], labels) {
				return true
			}
		}
	}
	return false
}

// hasText reports whether a value is a text that is not blank, or a list or an object that contains one. Fields with the
// names of labels are ignored. The value must be valid JSON.
func hasText(value []byte, labels []string) bool {
	switch value[0] {
	case '"':
		return !isBlank(value)
	case '[':
		elements, _ := jsonedit.List(value)
		for e := range elements {
			if hasText(value[e.From:e.End], labels) {
				return true
			}
		}
	case '{':
		o, err := jsonedit.ParseValid(value)
		return err == nil && slices.ContainsFunc(o.Fields, func(f jsonedit.Field) bool {
			return !slices.Contains(labels, f.Name) && hasText(value[f.From:f.End], labels)
		})
	}
	return false
}

// isBlank reports whether a JSON string has only white space.
func isBlank(quoted []byte) bool {
	if first := quoted[1]; first > ' ' && first < 0x7f && first != '"' && first != '\\' {
		return false // fast path for most texts
	}
	var text string
	return json.Unmarshal(quoted, &text) == nil && strings.TrimSpace(text) == ""
}

// IsContent reports whether a field of a message, or of a delta, can have content.
func IsContent(name string) bool {
	_, ok := contentFields[name]
	return ok
}

// HasContent reports whether the value of such a field has content. The value must be valid JSON.
func HasContent(name string, value []byte) bool { return hasText(value, contentFields[name]) }
