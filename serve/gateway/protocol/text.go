package protocol

import (
	"strings"

	"pipe/serve/gateway/protocol/middle"
)

// TextOf returns the text of a whole answer, without its reasoning. ok is false for an answer that is not a single text: one with
// several choices or none, with a call of a tool, with a refusal, or with parts of another kind than text.
func TextOf(f Format, body []byte) (text string, ok bool) {
	a, err := f.Read(body)
	if err != nil || len(a.Foreign) > 0 {
		return "", false
	}
	var b strings.Builder
	for _, p := range a.Parts {
		switch p.Kind {
		case middle.Reasoning:
		case middle.Text:
			b.WriteString(p.Text)
		default:
			return "", false
		}
	}
	return b.String(), strings.TrimSpace(b.String()) != ""
}
