package chat

import (
	"bytes"
	"encoding/json"

	"pipe/costs/prices"
	"pipe/experts/language"
	"pipe/experts/service"
	"pipe/internal/strictjson"
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
	if err := strictjson.CheckKeys(text); err != nil { // the values of both would be mixed
		return answer{}, e.fault(0, "the response is not a chat completion: %s", key.Excerpt([]byte(err.Error()))).
			Advise("check base_url: what is there sends answers that programs read differently")
	}
	message := r.Choices[0].Message
	a := answer{Truncated: string(r.Choices[0].Finish) == `"length"`, ToolCall: hasElements(message.ToolCalls) || hasElements(message.Function)}
	if message.Content != nil && !a.ToolCall { // null if a model refuses or returned only its reasoning
		a.Text = key.RedactAnswer(*message.Content)
	}
	if u := prices.ReadStated(r.Usage, maxTokens).For(a.Text != "" || a.ToolCall); u.Known {
		a.PromptTokens, a.CompletionTokens = int(u.In), int(u.Out)
		return a, nil
	}
	a.Estimated = true
	a.PromptTokens = characters(c)/charactersPerToken + 1
	a.CompletionTokens = len([]rune(a.Text))/charactersPerToken + 1
	return a, nil
}
