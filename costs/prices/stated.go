package prices

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Tokens are the tokens that a completion used.
type Tokens struct {
	In, Cached, Out int64 // Cached are those of In that the service had kept from earlier calls
}

// Stated is the usage of a completion as its service states it.
type Stated struct {
	Tokens
	Known       bool
	CachedKnown bool   // the service says how many are cached; else Cached is 0
	Reason      string // why a usage that is there is not known
}

// unknown is a usage that is not believed.
func unknown(format string, args ...any) Stated { return Stated{Reason: fmt.Sprintf(format, args...)} }

// ReadStated reads the field usage of a chat completion, in the spellings that services use. The prompt's tokens include
// those that were cached, and the completion's those of reasoning, also where the service counts them beside. A usage with
// counts that are missing, not whole numbers from 0 to most, or contradict each other is not known. Nor is one with tokens
// that have prices of their own: those of sound, and those that were written to a cache.
func ReadStated(text json.RawMessage, most int64) Stated {
	if len(text) == 0 || string(text) == "null" {
		return Stated{}
	}
	c := counts{most: most}
	if err := json.Unmarshal(text, &c.fields); err != nil {
		return unknown("usage has another form")
	}
	u, ok := c.readAll()
	switch {
	case c.wrong != "":
		return unknown("%s", c.wrong)
	case !ok:
		return unknown("counts of tokens are missing, or not whole numbers from 0 to %d", most)
	case c.any(dear...):
		return unknown("tokens of sound, or written to a cache, have prices of their own")
	case !u.settle():
		return unknown("the total of the tokens is not their sum, or is so in two ways")
	}
	if reason := u.contradiction(); reason != "" {
		return unknown("%s", reason)
	}
	return Stated{Tokens: u.Tokens, Known: true, CachedKnown: u.cached}
}

// dear are the names of tokens with prices of their own.
var dear = []string{
	"cache_creation_input_tokens", "prompt_tokens_details.cache_write_tokens", "prompt_tokens_details.cache_creation_tokens",
	"prompt_tokens_details.audio_tokens", "input_tokens_details.audio_tokens", "completion_tokens_details.audio_tokens", "output_tokens_details.audio_tokens",
}

// parts are the counts of a usage.
type parts struct {
	Tokens
	cached                   bool  // whether their number is stated
	reasoning, missed, total int64 // missed are tokens of the prompt that were not cached, -1 if that is not stated
}

// readAll reads the counts. ok is false if those of the prompt or of the completion are missing.
func (c *counts) readAll() (u parts, ok bool) {
	var in, out, is bool
	u.In, in = c.read("prompt_tokens", "input_tokens")
	u.Out, out = c.read("completion_tokens", "output_tokens")
	u.Cached, u.cached = c.read("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens", "prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens")
	u.reasoning, _ = c.read("reasoning_tokens", "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens")
	if u.missed, is = c.read("prompt_cache_miss_tokens"); !is {
		u.missed = -1
	}
	if u.total, is = c.read("total_tokens"); !is {
		u.total = u.In + u.Out
		if c.beside() {
			u.total += u.Cached
		}
	}
	return u, in && out
}

// settle adds what the service counts beside the prompt and the completion, by the total. It returns false if nothing
// fits the total, or two things do.
func (u *parts) settle() bool {
	switch extra := u.total - u.In - u.Out; {
	case extra == 0:
	case extra == u.Cached && extra == u.reasoning:
		return false
	case extra == u.reasoning:
		u.Out += u.reasoning
	case extra == u.Cached:
		u.In += u.Cached
	case extra == u.Cached+u.reasoning:
		u.In, u.Out = u.In+u.Cached, u.Out+u.reasoning
	default:
		return false
	}
	return true
}

// contradiction says what cannot be, "" if all can.
func (u *parts) contradiction() string {
	switch {
	case u.In == 0:
		return "no tokens of a prompt"
	case u.Cached > u.In:
		return "more cached tokens than tokens of the prompt"
	case u.missed >= 0 && u.Cached+u.missed != u.In:
		return "tokens that were cached and those that were not are not the prompt's"
	case u.reasoning > u.Out:
		return "more tokens of reasoning than of the completion"
	}
	return ""
}

// For returns the usage of an answer that has content: one that states no tokens for it is not known.
func (s Stated) For(content bool) Stated {
	if s.Known && s.Out == 0 && content {
		return unknown("no tokens of a completion, which has content")
	}
	return s
}

// counts reads the numbers of a usage.
type counts struct {
	most   int64
	fields map[string]json.RawMessage
	wrong  string // what is not to be believed, "" if nothing is yet
}

// read returns the count that stands under some of the names; with a dot, within another object. A count that is no
// whole number from 0 to most, or another one under a second name, is noted as wrong.
func (c *counts) read(names ...string) (n int64, ok bool) {
	for _, name := range names {
		text := c.get(name)
		if text == nil {
			continue
		}
		v, whole := wholeNumber(text, c.most)
		switch {
		case !whole:
			c.wrong = fmt.Sprintf("counts of tokens are missing, or not whole numbers from 0 to %d", c.most)
		case ok && v != n:
			c.wrong = "two counts of the same tokens differ"
		}
		n, ok = v, true
	}
	return n, ok
}

// any reports whether one of the counts is not 0.
func (c *counts) any(names ...string) bool {
	for _, name := range names {
		if n, _ := c.read(name); n > 0 {
			return true
		}
	}
	return false
}

// get returns a value, nil if it is not there or null.
func (c *counts) get(name string) json.RawMessage {
	fields := c.fields
	if outer, inner, ok := strings.Cut(name, "."); ok {
		name, fields = inner, nil
		if err := json.Unmarshal(c.fields[outer], &fields); err != nil {
			return nil // not there, or of another form, in which nothing is stated
		}
	}
	if text := fields[name]; string(text) != "null" {
		return text
	}
	return nil
}

// beside reports whether the service counts cached tokens beside those of the prompt, as Anthropic's own API does.
func (c *counts) beside() bool {
	return c.get("prompt_tokens") == nil && c.get("cache_read_input_tokens") != nil
}

// wholeNumber reads a whole number from 0 to most, which JSON may write as 100, 100.0 or 1e2.
func wholeNumber(text json.RawMessage, most int64) (int64, bool) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v >= 0 && v <= float64(most)) || v != math.Trunc(v) {
		return 0, false
	}
	return int64(v), true
}
