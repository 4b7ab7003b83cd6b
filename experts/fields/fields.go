// Package fields has the fields of requests that advice sets: how hard a chat model thinks, how long it may answer, and
// other parameters. The same model under two efforts is two pairs of an expert and an advice, which are learned and
// priced apart. An effort has one name here, and another place in every protocol; see [Set.Of].
package fields

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"pipe/internal/config"
)

// Protocols of services, by which fields differ.
const (
	OpenAI    = "openai"    // chat completions of OpenAI's API, which many services speak
	Responses = "responses" // OpenAI's API for responses
	Anthropic = "anthropic" // Anthropic's messages
	Gemini    = "gemini"    // Google's generateContent
	Ollama    = "ollama"    // Ollama's own chat
)

// Fields are fields of a request by name. Values are those of JSON.
type Fields = map[string]any

// Set is what one advice sets, for every protocol.
type Set struct {
	Effort string            `yaml:"effort" json:"effort,omitempty"` // one of Efforts; "": none is set
	Fields map[string]Fields `yaml:"fields" json:"fields,omitempty"` // further fields, by protocol
}

// Efforts are the efforts, in rising order. Not every protocol and not every model has all of them.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// none is the effort of a model that does not think.
const none = "none"

// protocol says which efforts a protocol has, and where a request states one.
type protocol struct {
	efforts []string
	fields  func(effort string) Fields
}

// protocols are the protocols by name.
var protocols = map[string]protocol{
	OpenAI: {Efforts[:6], func(e string) Fields { return Fields{"reasoning_effort": e} }},
	Responses: {Efforts[:6], func(e string) Fields {
		return Fields{"reasoning": Fields{"effort": e}}
	}},
	Anthropic: {[]string{none, "low", "medium", "high", "xhigh", "max"}, func(e string) Fields {
		if e == none {
			return Fields{"thinking": Fields{"type": "disabled"}}
		}
		return Fields{"output_config": Fields{"effort": e}}
	}},
	Gemini: {Efforts[1:5], func(e string) Fields {
		return Fields{"generationConfig": Fields{"thinkingConfig": Fields{"thinkingLevel": e}}}
	}},
	Ollama: {[]string{none, "low", "medium", "high"}, func(e string) Fields {
		if e == none {
			return Fields{"think": false}
		}
		return Fields{"think": e}
	}},
}

// Protocols are the names of the protocols, sorted.
func Protocols() []string { return slices.Sorted(maps.Keys(protocols)) }

// Of returns the fields that are set in requests of a protocol, nil if there are none.
func (s *Set) Of(name string) Fields {
	p, known := protocols[name]
	out := s.Fields[name]
	if known && slices.Contains(p.efforts, s.Effort) {
		out = Merge(p.fields(s.Effort), out)
	}
	return out
}

// All returns the fields of every protocol that has any.
func (s *Set) All() map[string]Fields {
	all := make(map[string]Fields)
	for name := range protocols {
		if f := s.Of(name); len(f) > 0 {
			all[name] = f
		}
	}
	return all
}

// reserved are fields that the caller, the prompt or another setting decides, or that change the form of an answer.
var reserved = []string{
	"contents", "function_call", "functions", "input", "instructions", "messages", "model", "n", "parallel_tool_calls", "previous_response_id",
	"prompt", "response_format", "seed", "stream", "stream_options", "system", "systemInstruction", "tool_choice", "toolConfig", "tools",
}

// Validate reports every problem.
func (s *Set) Validate() error {
	var p config.Problems
	p.Check(s.Effort == "" || slices.Contains(Efforts, s.Effort), "effort: is %q, none of %s", s.Effort, strings.Join(Efforts, ", "))
	p.Check(s.Effort != "" || len(s.Fields) > 0, "set effort, or fields of a protocol")
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		known, isKnown := protocols[name]
		p.Check(isKnown, "fields: %q is no protocol; known are %s", name, strings.Join(Protocols(), ", "))
		p.Check(len(s.Fields[name]) > 0, "fields.%s: is empty", name)
		p.Add(config.Under("fields."+name, check(s.Fields[name])))
		if isKnown && slices.Contains(known.efforts, s.Effort) {
			for _, path := range Paths(known.fields(s.Effort)) {
				p.Check(!has(s.Fields[name], path), "fields.%s: %s is also set by effort; set one of them", name, strings.Join(path, "."))
			}
		}
	}
	return p.Err()
}

// check reports every field that cannot be set.
func check(fields Fields) error {
	var p config.Problems
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		p.Check(!slices.Contains(reserved, name), "%s cannot be set here", name)
		if alias := Alias(name); alias != "" && name < alias {
			p.Check(fields[alias] == nil, "%s and %s are one field; set one of them", name, alias)
		}
	}
	for _, path := range Paths(fields) {
		value, _ := at(fields, path)
		_, err := json.Marshal(value)
		p.Check(value != nil && err == nil, "%s has no value that JSON could hold", strings.Join(path, "."))
		if last := path[len(path)-1]; slices.Contains(limits, last) {
			_, whole := Count(value)
			p.Check(whole, "%s is %v, not 1 to %d tokens", strings.Join(path, "."), value, MaxTokens)
		}
	}
	return p.Err()
}

// MaxTokens is the largest limit on tokens.
const MaxTokens = 1_000_000_000

// limits are the names of fields that limit tokens.
var limits = []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "budget_tokens"}

// Count returns a value as a positive number of tokens; ok is false for another value.
func Count(value any) (n int, ok bool) {
	f := math.NaN()
	switch v := value.(type) {
	case int:
		f = float64(v)
	case float64:
		f = v
	}
	if !(f >= 1 && f <= MaxTokens) || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}

// aliases are two names of the same field.
var aliases = map[string]string{"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

// Alias returns the other name of a field of chat completions, "" if it has none.
func Alias(name string) string { return aliases[name] }

// Merge returns the fields of both. Objects that both have are merged in the same way; of other values, and of two names of one
// field, those of over count. Neither is changed.
func Merge(under, over Fields) Fields {
	out := maps.Clone(under)
	if out == nil {
		out = make(Fields, len(over))
	}
	for name, value := range over {
		below, isObject := out[name].(Fields)
		above, too := value.(Fields)
		if isObject && too {
			value = Merge(below, above)
		}
		if alias := Alias(name); alias != "" {
			delete(out, alias)
		}
		out[name] = value
	}
	return out
}

// Paths lists the values that are no objects, sorted, each as the names that lead to it.
func Paths(fields Fields) (paths [][]string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner, isObject := fields[name].(Fields)
		if !isObject || len(inner) == 0 {
			paths = append(paths, []string{name})
			continue
		}
		for _, path := range Paths(inner) {
			paths = append(paths, append([]string{name}, path...))
		}
	}
	return paths
}

// at returns the value that a path leads to.
func at(fields Fields, path []string) (value any, ok bool) {
	value, ok = fields[path[0]]
	inner, isObject := value.(Fields)
	if len(path) == 1 || !ok {
		return value, ok
	}
	if !isObject {
		return nil, false
	}
	return at(inner, path[1:])
}

// has reports whether fields decide the value that a path leads to.
func has(fields Fields, path []string) bool {
	value, ok := fields[path[0]]
	if !ok || len(path) == 1 {
		return ok
	}
	inner, isObject := value.(Fields)
	return !isObject || has(inner, path[1:])
}

// Limit is the most tokens of an answer that requests of a protocol may ask for by it; 0: it sets none.
func (s *Set) Limit(name string) (most int) {
	set := s.Of(name)
	for _, path := range Paths(set) {
		if last := path[len(path)-1]; last != "budget_tokens" && slices.Contains(limits, last) {
			value, _ := at(set, path)
			most, _ = Count(value)
		}
	}
	return most
}

// Lacks reports whether a protocol, or a list of accepted efforts, has no such effort. An empty list accepts all of the
// protocol, and "" is no effort.
func (s *Set) Lacks(name string, accepted []string) error {
	switch p := protocols[name]; {
	case len(s.Of(name)) == 0 && s.Effort != "":
		return fmt.Errorf("the protocol %s has no effort %q; it has %s", name, s.Effort, strings.Join(p.efforts, ", "))
	case len(s.Of(name)) == 0:
		return fmt.Errorf("sets no fields of the protocol %s", name)
	case s.Effort != "" && len(accepted) > 0 && !slices.Contains(accepted, s.Effort):
		return fmt.Errorf("effort %q is none of those that the expert accepts: %s", s.Effort, strings.Join(accepted, ", "))
	}
	return nil
}
