package chatjson

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pipe/costs/prices"
)

// MostTokens bounds the counts of a completion. A service that states more is not believed.
const MostTokens = 100_000_000

// mostChoices bounds the choices of an answer, far above what services let clients ask for.
const mostChoices = 10_000

// Usage is the usage of a completion as the service states it.
type Usage = prices.Stated

// Tokens are the tokens that a completion used.
type Tokens = prices.Tokens

// Answer is a complete answer, or a chunk of a streamed one.
type Answer struct {
	Model    string          // that answered, as the service names it; "" if it does not
	Usage    Usage           //
	Choices  int             // in this answer or chunk
	Content  bool            // a choice has something of an answer, such as text, reasoning, a tool call or a refusal
	Finished bool            // a choice states why it ended
	Cut      string          // why a choice was cut: length or content_filter; "" if none was
	Error    json.RawMessage // what the service sent instead of an answer; nil if it is one
}

// ReadAnswer reads an answer or a chunk. Text that is not a JSON object is an error, and so is an answer without
// choices that states no error and no usage.
func ReadAnswer(text []byte) (Answer, error) {
	o, err := Lenient(text)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Usage: prices.ReadStated(o.Get("usage"), MostTokens), Error: o.Get("error")}
	_ = json.Unmarshal(orNull(o.Get("model")), &a.Model) // another type than a string is no name
	choices, ok := list(orNull(o.Get("choices")))
	if !ok && a.Error == nil && o.Get("usage") == nil {
		return a, errors.New("is not a chat completion: it has no choices")
	}
	all := o.Get("choices")
	for c := range choices {
		if a.Choices++; a.Choices > mostChoices {
			return a, fmt.Errorf("is not a chat completion: it has more than %d choices", mostChoices)
		}
		if choice, err := ofValid(all[c.from:c.end]); err == nil {
			a.Finished = a.Finished || choice.Get("finish_reason") != nil
			a.Cut = cmp.Or(cutReason(choice), a.Cut)
			a.Content = a.Content || hasContent(choice)
		}
	}
	return a, nil
}

// cutReason is the finish reason of a choice that the limit of its tokens or a filter of contents ended, "" for others.
func cutReason(choice *Object) string {
	switch reason := string(choice.Get("finish_reason")); reason {
	case `"length"`, `"content_filter"`:
		return strings.Trim(reason, `"`)
	}
	return ""
}

// IsPing reports whether the data of an event is a sign of life, which some services send without the name of a ping.
func IsPing(text []byte) bool {
	var event struct{ Type string }
	return json.Unmarshal(text, &event) == nil && event.Type == "ping"
}
