package prices

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
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
	Parts
	Batch       bool // the service answered as a part of a batch
	Known       bool
	CachedKnown bool   // the service says how many are cached; else Cached is 0
	Reason      string // why a usage that is there is not known
}

// Usage is the usage in the form that has a cost.
func (s Stated) Usage() Usage {
	return Usage{In: float64(s.In), Cached: float64(s.Cached), Out: float64(s.Out), Parts: s.Parts, Batch: s.Batch}
}

// Plain is the usage as if no token was cached or of a special kind, and the call none of a batch.
func (s Stated) Plain() Stated {
	s.Cached, s.Parts, s.Batch = 0, Parts{}, false
	return s
}

// Dear reports whether there are tokens that no service bills as others: those of sound, and those that were written to a cache.
func (s Stated) Dear() bool {
	return s.Written > 0 || s.WrittenHour > 0 || s.Audio > 0 || s.AudioOut > 0
}

// unknown is a usage that is not believed.
func unknown(format string, args ...any) Stated { return Stated{Reason: fmt.Sprintf(format, args...)} }

// ReadStated reads the field usage of an answer, in the spellings that services use: OpenAI's two APIs and those like them,
// Anthropic's, Google's (usageMetadata), Bedrock's, and the counts of an answer of Ollama. The prompt's tokens include
// those that were cached or written to a cache, and the completion's those of reasoning, also where the service counts them
// beside. A usage with counts that are missing, not whole numbers from 0 to most, or contradict each other is not known. Nor
// is one with work that prices of files do not have: pictures that were made, and searches of the service.
func ReadStated(text json.RawMessage, most int64) Stated {
	if len(text) == 0 || string(text) == "null" {
		return Stated{}
	}
	c := counts{most: most}
	if err := json.Unmarshal(text, &c.fields); err != nil {
		return unknown("usage has another form")
	}
	u, ok := c.readAll()
	unpriced := c.any(unpriced...) || c.modality("candidatesTokensDetails", "IMAGE") > 0
	switch {
	case c.wrong != "":
		return unknown("%s", c.wrong)
	case !ok:
		return unknown("counts of tokens are missing, or not whole numbers from 0 to %d", most)
	case unpriced:
		return unknown("pictures that were made, and searches of the service, have separate prices")
	case !u.settle():
		return unknown("the total of the tokens is not their sum, or is so in two ways")
	}
	if reason := u.contradiction(); reason != "" {
		return unknown("%s", reason)
	}
	return Stated{Tokens: u.Tokens, Parts: u.Parts, Batch: string(c.get("service_tier")) == `"batch"`, Known: true, CachedKnown: u.cached}
}

// unpriced are the names of counts of what price files have no prices for.
var unpriced = []string{"completion_tokens_details.image_tokens", "output_tokens_details.image_tokens", "server_tool_use.web_search_requests"}

// parts are the counts of a usage.
type parts struct {
	Tokens
	Parts
	cached        bool  // whether their number is stated
	missed, total int64 // missed are tokens of the prompt that were not cached, -1 if that is not stated
}

// readAll reads the counts. ok is false if those of the prompt or of the completion are missing.
func (c *counts) readAll() (u parts, ok bool) {
	var in, out, is bool
	u.In, in = c.read("prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "prompt_eval_count")
	u.Out, out = c.read("completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens", "eval_count")
	u.Cached, u.cached = c.read("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens", "prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens",
		"cachedContentTokenCount", "cacheReadInputTokens")
	tools, _ := c.read("toolUsePromptTokenCount")
	u.In += tools
	u.Parts = c.readParts()
	if u.missed, is = c.read("prompt_cache_miss_tokens"); !is {
		u.missed = -1
	}
	if u.total, is = c.read("total_tokens", "totalTokenCount", "totalTokens"); !is {
		u.total = u.In + u.Out
		if c.beside() {
			u.total += u.kept()
		}
	}
	return u, in && out
}

// readParts reads the counts of tokens of special kinds.
func (c *counts) readParts() (p Parts) {
	p.Written, _ = c.read("cache_creation_input_tokens", "prompt_tokens_details.cache_write_tokens", "prompt_tokens_details.cache_creation_tokens",
		"input_tokens_details.cache_write_tokens", "cacheWriteInputTokens")
	p.WrittenHour, _ = c.read("cache_creation.ephemeral_1h_input_tokens")
	if p.Written -= p.WrittenHour; p.Written < 0 {
		c.wrong = "more tokens were written to a cache for an hour than were written to it"
	}
	p.Image, _ = c.read("prompt_tokens_details.image_tokens", "input_tokens_details.image_tokens")
	p.Audio, _ = c.read("prompt_tokens_details.audio_tokens", "input_tokens_details.audio_tokens")
	p.Reasoning, _ = c.read("reasoning_tokens", "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "thoughtsTokenCount")
	p.AudioOut, _ = c.read("completion_tokens_details.audio_tokens", "output_tokens_details.audio_tokens")
	p.Image += c.modality("promptTokensDetails", "IMAGE")
	p.Audio += c.modality("promptTokensDetails", "AUDIO")
	p.AudioOut += c.modality("candidatesTokensDetails", "AUDIO")
	return p
}

// modality is the number of tokens of a modality in a list of Google's, 0 without the list.
func (c *counts) modality(list, name string) (n int64) {
	var all []struct {
		Modality   string
		TokenCount json.RawMessage
	}
	if err := json.Unmarshal(c.fields[list], &all); err != nil {
		return 0 // not there, or of another form, in which nothing is stated
	}
	for _, of := range all {
		if of.Modality != name || of.TokenCount == nil {
			continue
		}
		v, whole := wholeNumber(of.TokenCount, c.most)
		if n += v; !whole || n > c.most {
			c.wrong = fmt.Sprintf("counts of tokens are missing, or not whole numbers from 0 to %d", c.most)
			return 0
		}
	}
	return n
}

// kept are the tokens of the prompt that a cache had or got.
func (u *parts) kept() int64 { return u.Cached + u.Written + u.WrittenHour }

// settle adds what the service counts beside the prompt and the completion, by the total. It returns false if nothing
// fits the total, or two things do.
func (u *parts) settle() bool {
	kept := u.kept()
	switch extra := u.total - u.In - u.Out; {
	case extra == 0:
	case extra == kept && extra == u.Reasoning:
		return false
	case extra == u.Reasoning:
		u.Out += u.Reasoning
	case extra == kept:
		u.In += kept
	case extra == kept+u.Reasoning:
		u.In, u.Out = u.In+kept, u.Out+u.Reasoning
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
	case u.kept() > u.In:
		return "more tokens that were cached or written to a cache than tokens of the prompt"
	case u.Image+u.Audio > u.In:
		return "more tokens of images and sound than of the prompt"
	case u.Reasoning+u.AudioOut > u.Out:
		return "more tokens of reasoning and sound than of the completion"
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

// beside reports whether the service counts tokens of its cache beside those of the prompt, as the APIs of Anthropic and Bedrock do.
func (c *counts) beside() bool {
	return c.get("prompt_tokens") == nil && slices.ContainsFunc([]string{"cache_read_input_tokens", "cache_creation_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens"},
		func(name string) bool { return c.get(name) != nil })
}

// wholeNumber reads a whole number from 0 to most, which JSON may write as 100, 100.0 or 1e2.
func wholeNumber(text json.RawMessage, most int64) (int64, bool) {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v >= 0 && v <= float64(most)) || v != math.Trunc(v) {
		return 0, false
	}
	return int64(v), true
}
