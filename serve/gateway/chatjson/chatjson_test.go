package chatjson

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"pipe/costs/prices"
	"pipe/serve/gateway/jsonedit"
)

func TestRequestsKeepTheirBytes(t *testing.T) {
	advice := &Addition{Role: "user", Text: "<a> \"b\"\n", At: BeforeLast}
	const added = `{"role":"user","content":"<a> \"b\"\n"}`
	for _, c := range []struct {
		name, in, out string
		change        Change
	}{
		{
			"model", `{ "z":1.10, "model" : "pipe",` + "\n" + `"messages":[{"role":"user","content":"x"}] }`,
			`{ "z":1.10, "model" : "gpt\"4",` + "\n" + `"messages":[{"role":"user","content":"x"}] }`,
			Change{Model: `gpt"4`},
		},
		{"escaped key", `{"mod\u0065l":"pipe","seed":12345678901234567890}`, `{"mod\u0065l":"m","seed":12345678901234567890}`, Change{Model: "m"}},
		{
			"advice before the last of the user", `{"messages":[{"role":"user"}, {"role":"assistant"}, {"role":"user"} , {"role":"tool"}],"model":"p"}`,
			`{"messages":[{"role":"user"}, {"role":"assistant"}, ` + added + `,{"role":"user"} , {"role":"tool"}],"model":"m"}`,
			Change{Model: "m", Add: advice},
		},
		{
			"advice without a user", `{"messages":[{"role":"system"},{"role":"tool"}],"model":"p"}`,
			`{"messages":[{"role":"system"},` + added + `,{"role":"tool"}],"model":"m"}`,
			Change{Model: "m", Add: advice},
		},
		{"advice first", `{"messages":[ {}],"model":"p"}`, `{"messages":[ ` + added + `,{}],"model":"m"}`, Change{Model: "m", Add: &Addition{Role: "user", Text: advice.Text, At: First}}},
		{"advice last", `{"messages":[{"a":"]"} ],"model":"p"}`, `{"messages":[{"a":"]"},` + added + ` ],"model":"m"}`, Change{Model: "m", Add: &Addition{Role: "user", Text: advice.Text, At: Last}}},
		{"usage", `{"model":"p","stream":true}`, `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, Change{Model: "m", Usage: true}},
		{"usage of no stream", `{"model":"p"}`, `{"model":"m"}`, Change{Model: "m", Usage: true}},
		{
			"usage refused", `{"model":"p","stream":true,"stream_options":{"x":1e3,"include_usage":false}}`,
			`{"model":"m","stream":true,"stream_options":{"x":1e3,"include_usage":true}}`,
			Change{Model: "m", Usage: true},
		},
		{
			"usage null", `{"stream_options":null,"model":"p","stream":true}`,
			`{"stream_options":{"include_usage":true},"model":"m","stream":true}`,
			Change{Model: "m", Usage: true},
		},
		{
			"usage asked for", `{"model":"p","stream":true,"stream_options":{"include_usage":true}}`,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true}}`,
			Change{Model: "m", Usage: true},
		},
		{
			"fields", `{"model":"p","a":null}`, `{"model":"m","a":null,"b":[1],"c":2}`,
			Change{Model: "m", Fields: map[string]json.RawMessage{"a": json.RawMessage("1"), "c": json.RawMessage("2"), "b": json.RawMessage("[1]")}},
		},
		{
			"an alias", `{"model":"p","max_completion_tokens":5}`, `{"model":"m","max_completion_tokens":5,"seed":1}`,
			Change{Model: "m", Fields: map[string]json.RawMessage{"max_tokens": json.RawMessage("16"), "seed": json.RawMessage("1")}},
		},
		{
			"the other alias", `{"model":"p","max_tokens":5}`, `{"model":"m","max_tokens":5}`,
			Change{Model: "m", Fields: map[string]json.RawMessage{"max_completion_tokens": json.RawMessage("16")}},
		},
		{
			"no alias", `{"model":"p","":5,"max":1}`, `{"model":"m","":5,"max":1,"max_tokens":16,"seed":1}`,
			Change{Model: "m", Fields: map[string]json.RawMessage{"max_tokens": json.RawMessage("16"), "seed": json.RawMessage("1")}},
		},
	} {
		r, err := ReadRequest([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for range 2 { // a request can be sent to several experts
			if got := string(r.With(c.change)); got != c.out {
				t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.out)
			}
		}
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	for in, want := range map[string]string{
		``:                                 "the body is not a request for a chat completion: unexpected end of JSON input",
		`[]`:                               "is not a JSON object",
		`{"model":"a","model":"b"}`:        "duplicate key",
		`{"model":"a","x":{"y":1,"y":2}}`:  "duplicate key",
		`{"model":"a","x":"\ud800"}`:       "surrogate",
		"{\"model\":\"a\",\"x\":\"\xff\"}": "UTF-8",
		`{}`:                               "model must be",
		`{"model":7}`:                      "model must be",
		`{"model":null}`:                   "model must be",
		`{"model":"a","stream":"yes"}`:     "stream must be",
		`{"model":"a","messages":[]}`:      "messages must be",
		`{"model":"a","messages":"x"}`:     "messages must be",
		`{"model":"a","stream_options":1}`: "stream_options must be",
		`{"model":"a","x":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`: "exceeded max depth",
	} {
		if _, err := ReadRequest([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %q", in, err, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	for in, want := range map[string]Answer{
		`{"model":"m","choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`:  {Model: "m", Choices: 1, Finished: true, Usage: Usage{Tokens: prices.Tokens{In: 3, Out: 1}, Known: true}},
		`{"model":"m","choices":[{"delta":{"content":"\"finish_reason\""},"finish_reason":null}],"usage":null}`: {Model: "m", Choices: 1, Content: true},
		`{"model":7,"choices":[]}`:           {},
		`{"error":{"message":"no"}}`:         {Error: json.RawMessage(`{"message":"no"}`)},
		`{"error":null,"choices":[{},{},5]}`: {Choices: 3},
	} {
		if got, err := ReadAnswer([]byte(in)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{``, `[]`, `<html>`, `{"choices":`, `{}`, `{"choices":{}}`} {
		if got, err := ReadAnswer([]byte(in)); err == nil {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

// A list of millions of choices, which no service has, takes no memory.
func TestManyChoices(t *testing.T) {
	text := []byte(`{"choices":[` + strings.Repeat("{},", 1<<20) + `{}]}`)
	var err error
	allocs := testing.AllocsPerRun(1, func() { _, err = ReadAnswer(text) })
	if err == nil || !strings.Contains(err.Error(), "more than 10000 choices") || allocs > 4*maxChoices {
		t.Errorf("%v allocations, %v", allocs, err)
	}
	if a, err := ReadAnswer([]byte(`{"choices":[` + strings.Repeat("{},", maxChoices-1) + `{}]}`)); err != nil || a.Choices != maxChoices {
		t.Errorf("%d choices, %v", a.Choices, err)
	}
}

// FuzzRequest: a request that is read is the input but for the model, one message, and the fields that were added.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"model":"pipe","messages":[{"role":"user","content":"x"}],"stream":true,"tools":[{"a":1.0}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"]"}]},{"role":"assistant"}],"mod\u0065l":"p" }`,
		` {"stream_options":{"include_usage":false},"stream":true,"model":"a"}`,
	} {
		f.Add([]byte(s), uint8(0))
	}
	f.Fuzz(func(t *testing.T, in []byte, at uint8) {
		r, err := ReadRequest(in)
		if err != nil {
			return
		}
		add := &Addition{Role: "user", Text: "found\n\"", At: []Position{First, BeforeLast, Last}[at%3]}
		out := r.With(Change{Model: "other", Add: add, Usage: true, Fields: map[string]json.RawMessage{"seed": json.RawMessage("1")}})
		before, after := fields(t, in), fields(t, out)
		if string(after["model"]) != `"other"` || string(jsonedit.OrNull(after["seed"])) == "null" && string(before["seed"]) != "null" {
			t.Fatalf("%q became %q", in, out)
		}
		if r.Messages != nil {
			compareMessages(t, before["messages"], after["messages"])
		}
		if r.Stream && !strings.Contains(string(after["stream_options"]), "true") {
			t.Fatalf("no usage is asked for: %q", out)
		}
		for _, changed := range []string{"model", "messages", "stream_options"} {
			delete(before, changed)
			delete(after, changed)
		}
		if _, had := before["seed"]; !had {
			delete(after, "seed")
		}
		if !maps.EqualFunc(before, after, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

// compareMessages checks that one message was added, and no byte of the others changed.
func compareMessages(t *testing.T, before, after json.RawMessage) {
	t.Helper()
	var was, is []json.RawMessage
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil || len(is) != len(was)+1 {
		t.Fatalf("messages %s became %s", before, after)
	}
	skipped := 0
	for i := range was {
		if skipped == 0 && bytes.Contains(is[i], []byte(`"found\n\""`)) && !bytes.Equal(is[i], was[i]) {
			skipped = 1
		}
		if !bytes.Equal(was[i], is[i+skipped]) {
			t.Fatalf("messages %s became %s", before, after)
		}
	}
}

// fields are the values of an object as encoding/json reads them.
func fields(t *testing.T, text []byte) (m map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return m
}

// FuzzAnswer: whatever a service sends is read or refused, and counts are never negative.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"model":"m","choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`))
	f.Add([]byte(`{"error":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := ReadAnswer(in)
		if u := a.Usage; u.In < 0 || u.Out < 0 || u.Cached < 0 || u.Cached > u.In || !u.Known && u.Tokens != (prices.Tokens{}) {
			t.Fatalf("%q: %+v, %v", in, a, err)
		}
	})
}
