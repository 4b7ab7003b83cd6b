package chatjson

import (
	"encoding/json"
	"strings"
)

// ReadText returns the text of a complete answer. ok is false for an answer that is not a single text: one with several choices or none, with
// a call of a tool, with a refusal alone, or with parts of another kind than text.
func ReadText(body []byte) (text string, ok bool) {
	var answer struct {
		Choices []struct {
			Message struct {
				Content   json.RawMessage   `json:"content"`
				ToolCalls []json.RawMessage `json:"tool_calls"`
				Function  json.RawMessage   `json:"function_call"`
			} `json:"message"`
		} `json:"choices"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Choices) != 1 {
		return "", false
	}
	m := answer.Choices[0].Message
	if len(m.ToolCalls) > 0 || len(m.Function) > 0 && string(m.Function) != "null" {
		return "", false
	}
	if json.Unmarshal(m.Content, &text) == nil {
		return text, strings.TrimSpace(text) != ""
	}
	return textOfParts(m.Content)
}

// textOfParts joins the texts of a content that is a list of parts.
func textOfParts(content json.RawMessage) (string, bool) {
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return "", false
		}
		b.WriteString(*p.Text)
	}
	return b.String(), strings.TrimSpace(b.String()) != ""
}
