package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"

	"pipe/costs/observe"
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
		Finish   json.RawMessage `json:"finish_reason"` // some services send other things than a string
		LogProbs json.RawMessage `json:"logprobs"`
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
	a := answer{Finish: finishOf(key, r.Choices[0].Finish), LogProb: logProbOf(r.Choices[0].LogProbs), ToolCall: hasElements(message.ToolCalls) || hasElements(message.Function)}
	a.Truncated = a.Finish == finishLength
	if message.Content != nil && !a.ToolCall { // null if a model refuses or returned only its reasoning
		a.Text = key.RedactAnswer(*message.Content)
	}
	if u := prices.ReadStated(r.Usage, maxTokens).For(a.Text != "" || a.ToolCall); u.Known && !u.Dear() && !u.Batch {
		a.PromptTokens, a.CompletionTokens = int(u.In), int(u.Out)
		if cached := int(u.Cached); u.CachedKnown {
			a.CachedTokens = &cached
		}
		return a, nil
	}
	a.Estimated = true
	a.PromptTokens = characters(c)/charactersPerToken + 1
	a.CompletionTokens = len([]rune(a.Text))/charactersPerToken + 1
	return a, nil
}

// fault is an error of this service.
func (e *endpoint) fault(status int, format string, args ...any) *service.Error {
	return &service.Error{URL: e.url, Status: status, Reason: fmt.Sprintf(format, args...)}
}

// refused returns the error of a response with an error status.
func (e *endpoint) refused(r *http.Response, key service.Secret, text []byte) error {
	code := r.StatusCode
	fault := e.fault(code, "%s", key.Excerpt(text))
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if e.cfg.Key == "" {
			return fault.Advise("the service requires a key: put it into an environment variable and name that with the setting key")
		}
		return fault.Advise("the service does not accept the key in the environment variable " + e.cfg.Key)
	case code == http.StatusNotFound:
		return fault.Advise("check base_url, which must end before /chat/completions, and whether the service has the model")
	case code >= 300 && code < 400:
		return fault.Advise("the service redirects to another address, and redirects are not followed: set base_url to that address")
	case code == http.StatusRequestTimeout, code == http.StatusConflict, code == http.StatusTooManyRequests, code >= 500:
		return fault.Later(r.Header)
	}
	return fault.Advise("check model, max_tokens, temperature and extra against what the service accepts")
}

// finishLength is the reason of an answer that the limit on tokens ended.
const finishLength = "length"

// finishOf is why an answer ends: a short word, else not known.
func finishOf(key service.Secret, reason json.RawMessage) string {
	const most = 40
	var word string
	if json.Unmarshal(reason, &word) != nil || len(word) > most || key.RedactAnswer(word) != word ||
		strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return word
}

// logProbOf is the log-probability of an answer; nil if it is not known.
func logProbOf(stated json.RawMessage) *float64 {
	if v := observe.TokenLogProb(stated); !math.IsNaN(v) {
		return &v
	}
	return nil
}
