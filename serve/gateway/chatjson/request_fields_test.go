package chatjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pipe/experts/fields"
)

// TestAdviceSetsFields: the caller's values stay, those of advice come before the defaults, and objects are merged.
func TestAdviceSetsFields(t *testing.T) {
	defaults := map[string]json.RawMessage{"temperature": json.RawMessage("0"), "max_tokens": json.RawMessage("9"), "reasoning": json.RawMessage(`{"summary":"auto","effort":"low"}`)}
	advice := fields.Fields{"reasoning": fields.Fields{"effort": "high"}, "max_completion_tokens": 500, "top_p": 0.5}
	for in, want := range map[string]string{
		`{"model":"pipe"}`: `{"model":"m","max_completion_tokens":500,"reasoning":{"effort":"high","summary":"auto"},"top_p":0.5,"temperature":0}`,
		`{"model":"pipe","max_tokens":7,"top_p":1.0}`:                                  `{"model":"m","max_tokens":7,"top_p":1.0,"reasoning":{"effort":"high","summary":"auto"},"temperature":0}`,
		`{"model":"pipe", "reasoning" : { "summary":"none" } ,"max_tokens":null}`:      `{"model":"m", "reasoning" : { "summary":"none" ,"effort":"high"} ,"max_tokens":null,"top_p":0.5,"temperature":0}`,
		`{"model":"pipe","reasoning":{"effort":"low"},"temperature":1,"max_tokens":1}`: `{"model":"m","reasoning":{"effort":"low"},"temperature":1,"max_tokens":1,"top_p":0.5}`,
		`{"model":"pipe","reasoning":"yes","max_tokens":1}`:                            `{"model":"m","reasoning":"yes","max_tokens":1,"top_p":0.5,"temperature":0}`,
	} {
		r, err := ReadRequest([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.With(Change{Model: "m", Fields: defaults, Advice: advice})); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, got, want)
		}
		if got := string(r.With(Change{Model: "pipe"})); got != in {
			t.Errorf("%s was modified: %s", in, got)
		}
	}
	if got, err := SetFields([]byte(`{"a":{"b":1}}`), fields.Fields{"a": fields.Fields{"b": 2, "c": 3}}); err != nil || string(got) != `{"a":{"b":1,"c":3}}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := SetFields([]byte(`[]`), advice); err == nil {
		t.Error("a list has no fields")
	}
}

func TestContradictions(t *testing.T) {
	advice := fields.Fields{"reasoning": fields.Fields{"effort": "high"}, "max_completion_tokens": 500}
	for in, want := range map[string]string{
		`{"model":"m"}`:                                  "",
		`{"model":"m","reasoning":null}`:                 "",
		`{"model":"m","reasoning":{"effort":"high"}}`:    "",
		`{"model":"m","reasoning":{"summary":"auto"}}`:   "",
		`{"model":"m","reasoning":{"effort":"low"}}`:     "reasoning.effort",
		`{"model":"m","reasoning":"low"}`:                "reasoning",
		`{"model":"m","max_tokens":5e2}`:                 "",
		`{"model":"m","max_tokens":501}`:                 "max_completion_tokens",
		`{"model":"m","max_completion_tokens":"500"}`:    "max_completion_tokens",
		`{"model":"m","reasoning_effort":"low","x":[1]}`: "",
	} {
		r, err := ReadRequest([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(Contradicts(r.object, advice), "."); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// FuzzAdvice sets fields in any request: what comes out is JSON, every value of the caller is still there, and every value of the
// advice that the caller did not decide.
func FuzzAdvice(f *testing.F) {
	f.Add([]byte(`{"model":"m","a":{"b":{"c":1}}}`))
	f.Add([]byte(`{"model":"m","max_tokens":1,"a":[]}`))
	f.Add([]byte(`{"model":"m","a":{"b":null}}`))
	advice := fields.Fields{"a": fields.Fields{"b": fields.Fields{"c": 2.0, "d": "x"}}, "max_completion_tokens": 5.0}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ReadRequest(text)
		if err != nil {
			return
		}
		var before, after map[string]any
		out := r.With(Change{Model: r.Model, Advice: advice})
		if err := json.Unmarshal(text, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		want := fields.Merge(advice, nil)
		for name := range before {
			if alias := Alias(name); alias != "" {
				delete(want, alias)
			}
		}
		var merge func(own, add fields.Fields) fields.Fields
		merge = func(own, add fields.Fields) fields.Fields {
			out := fields.Fields{}
			for name, v := range own {
				out[name] = v
			}
			for name, v := range add {
				inner, isObject := out[name].(fields.Fields)
				below, too := v.(fields.Fields)
				switch _, has := out[name]; {
				case !has:
					out[name] = v
				case isObject && too:
					out[name] = merge(inner, below)
				}
			}
			return out
		}
		before["model"] = r.Model
		if !reflect.DeepEqual(after, map[string]any(merge(before, want))) {
			t.Fatalf("%q became %q", text, out)
		}
	})
}
