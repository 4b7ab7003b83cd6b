package middle

import (
	"strings"

	"pipe/costs/prices"
)

// Answer is a whole answer.
type Answer struct {
	ID, Model    string
	Parts        []Part
	Finish       Finish
	StopSequence string // that ended it, "" if none did
	Usage        Usage
	Foreign      []*FieldError // fields that have no place in this form
}

// Finish says why an answer ended.
type Finish string

// The reasons.
const (
	Stop   Finish = "stop"
	Length Finish = "length"         // the limit of tokens
	Filter Finish = "content_filter" // a filter, or the model refused
	Calls  Finish = "tool_calls"     // it waits for results of tools
	Pause  Finish = "pause"          // the service stopped for a while, and is to be asked again
)

// Cut is the reason if the answer ended early, else "".
func (f Finish) Cut() string {
	if f == Length || f == Filter {
		return string(f)
	}
	return ""
}

// Usage are the tokens of an answer.
type Usage struct {
	In        int64 // of the prompt, with those that were read from a cache or written to it
	Cached    int64
	Written   int64
	Out       int64 // of the answer, with its reasoning
	Reasoning int64
	Reported  bool          // the service said so
	Stated    prices.Stated // the same as far as fees can be computed from it
}

// MaxTokens bounds the token counts of an answer. Larger counts are not believed.
const MaxTokens = 100_000_000

// NewUsage is a usage that a service reported in another form than that of the known protocols.
func NewUsage(in, cached, out, reasoning int64) Usage {
	u := Usage{In: in, Cached: cached, Out: out, Reasoning: reasoning, Reported: true}
	ok := in > 0 && out >= 0 && cached >= 0 && reasoning >= 0 && cached <= in && reasoning <= out && max(in, out) <= MaxTokens
	if u.Stated.Reason = "counts of tokens are not whole numbers that fit"; ok {
		u.Stated = prices.Stated{Tokens: prices.Tokens{In: in, Cached: cached, Out: out}, Known: true, CachedKnown: true}
	}
	return u
}

// HasContent reports whether a part has content: a text that is not blank, or anything that is no text.
func HasContent(parts []Part) bool {
	for _, p := range parts {
		switch p.Kind {
		case Text, Reasoning, Refusal:
			if strings.TrimSpace(p.Text) != "" {
				return true
			}
		default:
			return true
		}
	}
	return false
}
