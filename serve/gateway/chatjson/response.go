package chatjson

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pipe/costs/prices"
	"pipe/serve/gateway/jsonedit"
)

// maxTokens bounds the token counts of a completion. Larger counts are ignored.
const maxTokens = 100_000_000

// maxChoices bounds the choices of an answer. Services allow far fewer.
const maxChoices = 10_000

// Usage is the usage of a completion as the service reports it.
type Usage = prices.Stated

// Answer is a complete answer, or a chunk of a streamed one.
type Answer struct {
	Model    string          // that answered, by its name at the service; "" if not reported
	Usage    Usage           //
	Choices  int             // in this answer or chunk
	Content  bool            // a choice has content, such as text, reasoning, a tool call or a refusal
	Finished bool            // a choice has a finish reason
	Cut      string          // why a choice ended early: length or content_filter; "" if none did
	Error    json.RawMessage // the error that the service sent in place of an answer; nil: none
}

// ReadAnswer reads an answer or a chunk. It returns an error for text that is not a JSON object, and for an object that has
// neither choices nor an error nor a usage.
func ReadAnswer(text []byte) (Answer, error) {
	o, err := jsonedit.ParseLenient(text)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Usage: prices.ReadStated(o.Get("usage"), maxTokens), Error: o.Get("error")}
	_ = json.Unmarshal(jsonedit.OrNull(o.Get("model")), &a.Model) // a value that is no string is ignored
	choices, ok := jsonedit.List(jsonedit.OrNull(o.Get("choices")))
	if !ok && a.Error == nil && o.Get("usage") == nil {
		return a, errors.New("is not a chat completion: it has no choices")
	}
	all := o.Get("choices")
	for c := range choices {
		if a.Choices++; a.Choices > maxChoices {
			return a, fmt.Errorf("is not a chat completion: it has more than %d choices", maxChoices)
		}
		if choice, err := jsonedit.ParseValid(all[c.From:c.End]); err == nil {
			a.Finished = a.Finished || choice.Get("finish_reason") != nil
			a.Cut = cmp.Or(cutReason(choice), a.Cut)
			a.Content = a.Content || hasContent(choice)
		}
	}
	return a, nil
}

// cutReason returns the finish reason of a choice that ended early: at a token limit or by a content filter. "" for others.
func cutReason(choice *jsonedit.Object) string {
	switch reason := string(choice.Get("finish_reason")); reason {
	case `"length"`, `"content_filter"`:
		return strings.Trim(reason, `"`)
	}
	return ""
}

// IsPing reports whether the data of an event is a ping, which some services send without an event name.
func IsPing(text []byte) bool {
	var event struct{ Type string }
	return json.Unmarshal(text, &event) == nil && event.Type == "ping"
}
