package chat

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"pipe/costs/language"
	"pipe/costs/service"
)

// chatResponse is the part of a response that is used.
type chatResponse struct {
	Choices []struct {
		Message *struct {
			Content   *string         `json:"content"`
			ToolCalls json.RawMessage `json:"tool_calls"`
			Function  json.RawMessage `json:"function_call"`
		} `json:"message"`
		Finish json.RawMessage `json:"finish_reason"` // some services send other things than a string
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

// hasElements reports whether a list or an object is there, and not empty.
func hasElements(v json.RawMessage) bool {
	switch string(bytes.Join(bytes.Fields(v), nil)) {
	case "", "null", "[]", "{}":
		return false
	}
	return true
}

// countedTokens reads the token counts of a service. ok is false if a count is
// missing or invalid: negative, not a whole number, or above maxTokens.
func countedTokens(usage json.RawMessage) (prompt, completion int, ok bool) {
	var u struct {
		Prompt     json.RawMessage `json:"prompt_tokens"`
		Completion json.RawMessage `json:"completion_tokens"`
	}
	if len(usage) == 0 || json.Unmarshal(usage, &u) != nil {
		return 0, 0, false
	}
	prompt, isCount := wholeTokens(u.Prompt)
	completion, isCount2 := wholeTokens(u.Completion)
	return prompt, completion, isCount && isCount2 && prompt+completion > 0
}

// wholeTokens reads a whole number, which JSON may write as 100, 100.0 or 1e2.
func wholeTokens(text json.RawMessage) (tokens int, ok bool) {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(n >= 0 && n <= maxTokens) || n != math.Trunc(n) {
		return 0, false
	}
	return int(n), true
}

// read extracts the answer from a response.
func (e *endpoint) read(key service.Secret, c language.Conversation, text []byte) (answer, error) {
	var r chatResponse
	err := json.Unmarshal(text, &r)
	if service.IsTruncated(text, err) {
		return answer{}, e.fault(0, "the answer ends early: %s", key.Excerpt(text)).Retry(0)
	}
	if err != nil || len(r.Choices) == 0 || r.Choices[0].Message == nil {
		return answer{}, e.fault(0, "the response is not a chat completion: %s", key.Excerpt(text)).
			Advise("check base_url: it may be a web page, a proxy or another API")
	}
	message := r.Choices[0].Message
	a := answer{Truncated: string(r.Choices[0].Finish) == `"length"`, ToolCall: hasElements(message.ToolCalls) || hasElements(message.Function)}
	if message.Content != nil && !a.ToolCall { // null if a model refuses or returned only its reasoning
		a.Text = key.RedactAnswer(*message.Content)
	}
	var counted bool
	if a.PromptTokens, a.CompletionTokens, counted = countedTokens(r.Usage); counted {
		return a, nil
	}
	a.Estimated = true
	a.PromptTokens = characters(c)/charactersPerToken + 1
	a.CompletionTokens = len([]rune(a.Text))/charactersPerToken + 1
	return a, nil
}
