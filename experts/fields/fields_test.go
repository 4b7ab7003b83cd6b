package fields

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEfforts writes the effort of every protocol down, as its service reads it.
func TestEfforts(t *testing.T) {
	for _, c := range []struct{ protocol, effort, want string }{
		{OpenAI, "high", `{"reasoning_effort":"high"}`},
		{OpenAI, "none", `{"reasoning_effort":"none"}`},
		{Responses, "minimal", `{"reasoning":{"effort":"minimal"}}`},
		{Anthropic, "max", `{"output_config":{"effort":"max"}}`},
		{Anthropic, "none", `{"thinking":{"type":"disabled"}}`},
		{Anthropic, "minimal", `null`},
		{Gemini, "low", `{"generationConfig":{"thinkingConfig":{"thinkingLevel":"low"}}}`},
		{Ollama, "none", `{"think":false}`},
		{Ollama, "medium", `{"think":"medium"}`},
		{OpenAI, "max", `null`},
		{"other", "high", `null`},
	} {
		s := Set{Effort: c.effort}
		got, err := json.Marshal(s.Of(c.protocol))
		if err != nil || string(got) != c.want {
			t.Errorf("%s %s: %s, %v; want %s", c.protocol, c.effort, got, err, c.want)
		}
		if lacks := s.Lacks(c.protocol, nil); (lacks != nil) != (c.want == "null") {
			t.Errorf("%s %s: %v", c.protocol, c.effort, lacks)
		}
	}
	high := Set{Effort: "high"}
	if err := high.Lacks(OpenAI, []string{"low", "medium"}); err == nil || err.Error() != `effort "high" is none of those that the expert accepts: low, medium` {
		t.Error(err)
	}
	raw := Set{Fields: map[string]Fields{OpenAI: {"top_p": 0.5}}}
	if raw.Lacks(OpenAI, []string{"low"}) != nil || raw.Lacks(Gemini, nil) == nil || len(raw.All()) != 1 {
		t.Error(raw.Lacks(OpenAI, []string{"low"}), raw.Lacks(Gemini, nil), raw.All())
	}
	both := Set{Effort: "high", Fields: map[string]Fields{Responses: {"reasoning": Fields{"summary": "auto"}}}}
	if got, _ := json.Marshal(both.Of(Responses)); string(got) != `{"reasoning":{"effort":"high","summary":"auto"}}` {
		t.Errorf("%s", got)
	}
}

func TestBadSets(t *testing.T) {
	of := func(f Fields) Set { return Set{Fields: map[string]Fields{OpenAI: f}} }
	for _, c := range []struct {
		set  Set
		want string
	}{
		{Set{}, "set effort, or fields of a protocol"},
		{Set{Effort: "huge"}, `effort: is "huge", none of none, minimal, low, medium, high, xhigh, max`},
		{Set{Fields: map[string]Fields{"azure": {"a": 1}}}, `fields: "azure" is no protocol; known are anthropic, gemini, ollama, openai, responses`},
		{of(nil), "fields.openai: is empty"},
		{of(Fields{"messages": 1}), "fields.openai.messages cannot be set here"},
		{of(Fields{"tools": []any{}}), "fields.openai.tools cannot be set here"},
		{of(Fields{"max_tokens": 1, "max_completion_tokens": 1}), "fields.openai.max_completion_tokens and max_tokens are one field; set one of them"},
		{of(Fields{"max_tokens": 0}), "fields.openai.max_tokens is 0, not 1 to 1000000000 tokens"},
		{of(Fields{"max_tokens": 1.5}), "fields.openai.max_tokens is 1.5, not 1 to 1000000000 tokens"},
		{of(Fields{"max_tokens": "9"}), "fields.openai.max_tokens is 9, not 1 to 1000000000 tokens"},
		{of(Fields{"temperature": math.NaN()}), "fields.openai.temperature has no value that JSON could hold"},
		{of(Fields{"a": Fields{"b": nil}}), "fields.openai.a.b has no value that JSON could hold"},
		{Set{Effort: "low", Fields: map[string]Fields{OpenAI: {"reasoning_effort": "high"}}}, "fields.openai: reasoning_effort is also set by effort; set one of them"},
		{Set{Effort: "low", Fields: map[string]Fields{Responses: {"reasoning": "much"}}}, "fields.responses: reasoning.effort is also set by effort; set one of them"},
		{Set{Fields: map[string]Fields{Anthropic: {"thinking": Fields{"type": "enabled", "budget_tokens": -1}}}}, "fields.anthropic.thinking.budget_tokens is -1, not 1 to 1000000000 tokens"},
	} {
		if err := c.set.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.set, err, c.want)
		}
	}
	good := Set{Effort: "high", Fields: map[string]Fields{
		OpenAI: {"max_completion_tokens": 4000, "temperature": 1}, Anthropic: {"thinking": Fields{"type": "enabled", "budget_tokens": 8000.0}, "max_tokens": 16000},
	}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// TestMergeIsLeafByLeaf draws two trees of fields. Every value of the upper one is in the result, and so is every value of the
// lower one on whose path the upper one has nothing. Neither is changed, and nothing else comes in.
func TestMergeIsLeafByLeaf(t *testing.T) {
	var tree func(depth int) *rapid.Generator[Fields]
	tree = func(depth int) *rapid.Generator[Fields] {
		value := rapid.Map(rapid.IntRange(0, 9), func(n int) any { return n })
		if depth > 0 {
			value = rapid.OneOf(value, rapid.Map(tree(depth-1), func(f Fields) any { return f }))
		}
		return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), value, 1, 3)
	}
	rapid.Check(t, func(r *rapid.T) {
		under, over := tree(2).Draw(r, "under"), tree(2).Draw(r, "over")
		before, _ := json.Marshal([]Fields{under, over})
		got := Merge(under, over)
		if after, _ := json.Marshal([]Fields{under, over}); string(after) != string(before) {
			r.Fatalf("%s was changed to %s", before, after)
		}
		from := 0
		for _, path := range Paths(over) {
			if is, ok := at(got, path); !ok || !reflect.DeepEqual(is, first(at(over, path))) {
				r.Fatalf("%s of the upper fields is lost: %v", strings.Join(path, "."), got)
			}
			from++
		}
		for _, path := range Paths(under) {
			if decides(over, path) {
				continue
			}
			if is, ok := at(got, path); !ok || !reflect.DeepEqual(is, first(at(under, path))) {
				r.Fatalf("%s of the lower fields is lost: %v", strings.Join(path, "."), got)
			}
			from++
		}
		if n := len(Paths(got)); n != from {
			r.Fatalf("%d values, of which %d are explained: %v", n, from, got)
		}
	})
	if got := Merge(Fields{"max_tokens": 1}, Fields{"max_completion_tokens": 2}); !reflect.DeepEqual(got, Fields{"max_completion_tokens": 2}) {
		t.Error(got)
	}
}

func first(v any, _ bool) any { return v }

// decides reports whether the upper fields have a value on a path or at its end.
func decides(over Fields, path []string) bool {
	value, ok := over[path[0]]
	inner, isObject := value.(Fields)
	switch {
	case !ok:
		return false
	case len(path) == 1 || !isObject:
		return true
	}
	return decides(inner, path[1:])
}
