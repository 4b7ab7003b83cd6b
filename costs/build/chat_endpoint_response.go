package build

import (
	"bytes"
	"encoding/json"
	"errors"
)

// chatResponse is what is read of a response of OpenAI's protocol.
type chatResponse struct {
	Choices []struct {
		Message *struct {
			Content *string `json:"content"`
		} `json:"message"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

// read takes the answer out of a response.
func (e *endpoint) read(key secret, c conversation, text []byte) (answer, error) {
	var r chatResponse
	err := json.Unmarshal(text, &r)
	if isTruncated(text, err) {
		return answer{}, e.fault(0, "the answer ends early: %s", key.excerpt(text)).retry(0)
	}
	if err != nil || len(r.Choices) == 0 || r.Choices[0].Message == nil {
		return answer{}, e.fault(0, "the response is not that of a chat completion: %s", key.excerpt(text)).
			advise("check base_url: it may be that of a web page, a proxy or another protocol")
	}
	var a answer
	if content := r.Choices[0].Message.Content; content != nil { // null where a model refuses, or only thought
		a.Text = key.hideIn(*content)
	}
	if u := r.Usage; u != nil && u.Prompt >= 0 && u.Completion >= 0 && u.Prompt+u.Completion > 0 {
		a.PromptTokens, a.CompletionTokens = u.Prompt, u.Completion
		return a, nil
	}
	a.Estimated = true
	a.PromptTokens = c.characters()/charactersPerToken + 1
	a.CompletionTokens = len([]rune(a.Text))/charactersPerToken + 1
	return a, nil
}

// isTruncated tells JSON that breaks off from text that is no JSON.
func isTruncated(text []byte, err error) bool {
	var syntax *json.SyntaxError
	begins := bytes.TrimSpace(text)
	return len(begins) == 0 || begins[0] == '{' && errors.As(err, &syntax) && syntax.Offset >= int64(len(text))
}
