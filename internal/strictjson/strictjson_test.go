package strictjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}`: "",
		`{"a":1,"b":2,"a":3}`:                       `duplicate key "a" in the object`,
		"{\n\"x\":[\n{\"k\":1,\n\"k\":2}]}":         `duplicate key "k" in the object (line 4 of the text)`,
		`{"a":{"b":1},"\u0061":2}`:                  `duplicate key "a" in the object`,
		`{"a":"a","b":["a","a"],"c":"b"}`:           "",
		`{"a:":",","b":"{","c":"\"","d\\":1,"d":2}`: "",
		`["a","a"]`:                     "",
		`"\ud83d\ude00 \\ud800 \u0041"`: "",
		`{"a":"\ud83d"}`:                `\ud83d is half of a surrogate pair`,
		`{"a":"\ude00\ud83d"}`:          `\ude00 is half of a surrogate pair`,
		`{"\ud83dx":1}`:                 `\ud83d is half of a surrogate pair`,
		"{\"a\":\"\xff\"}":              "is not UTF-8 text",
		`{"A":1,"a":2}`:                 "",
	} {
		if !json.Valid([]byte(text)) {
			t.Fatalf("%s is not JSON", text)
		}
		got := ""
		if err := Check([]byte(text)); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, expected %q", text, got, want)
		}
	}
}

// CheckKeys finds the same keys, and lets texts pass.
func TestCheckKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}`: "", `{"a":"\ud83d","b":"\ude00"}`: "", "{\"a\":\"\xff\"}": "", `{"A":1,"a":2}`: "", `7`: "",
		`{"a":1,"a":1}`: "duplicate key", `[{"x":{"a":1,"\u0061":2}}]`: "duplicate key",
	} {
		if err := CheckKeys([]byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A map keeps keys of two cases apart.
func TestUnmarshal(t *testing.T) {
	var m map[string]float64
	text := []byte(`{"fee":1,"FEE":2}`)
	if err := Unmarshal(text, &m); err != nil || m["fee"] != 1 || m["FEE"] != 2 {
		t.Errorf("%v, %v", m, err)
	}
	if err := Unmarshal([]byte(`{"a":1,"a":`), &m); err == nil || !strings.Contains(err.Error(), "unexpected end") {
		t.Errorf("of broken syntax: %v", err)
	}
	if _, err := Object([]byte("null")); err == nil {
		t.Error("null is taken for an object")
	}
}

// Half of a surrogate pair is refused where the value is read, and not in what is ignored.
func TestLoneSurrogatesOfFields(t *testing.T) {
	type inner struct {
		Text string `json:"text"`
	}
	type page struct {
		ID    string            `json:"id"`
		Inner []inner           `json:"inner"`
		Map   map[string]string `json:"map"`
		Any   any               `json:"any"`
		Raw   json.RawMessage   `json:"raw"`
	}
	for text, refused := range map[string]bool{
		`{"id": "a", "lines": "\ud83d"}`:                                          false,
		`{"lines": ["\ud83d", {"x": "\ude00", "y": [["\ud83d"]]}], "id": "a"}`:    false,
		`{"inner": [{"text": "a", "more": "\ud83d"}, {"more": {"m": "\ud83d"}}]}`: false,
		`{"lines": "\ud83d", "id": "\ud83d"}`:                                     true,
		`{"lines": {"x": "\ud83d"}, "map": {"k": "\ud83d"}}`:                      true,
		`{"inner": [{"more": "\ud83d", "text": "\ud83d"}]}`:                       true,
		`{"any": {"x": "\ud83d"}}`:                                                true,
		`{"raw": {"x": "\ud83d"}}`:                                                true,
		`{"\ud83d": 1}`:                                                           true,
		`{"lines": {"\ud83d": 1}}`:                                                true,
	} {
		err := Unmarshal([]byte(text), new(page))
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "half of a surrogate pair") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := CheckKeys([]byte(`{"a": ["\ud83d", {"b": "\ude00"}]}`)); err != nil {
		t.Error(err)
	}
	if err := CheckKeys([]byte(`{"a": {"\ud83d": 1}}`)); err == nil {
		t.Error("half a pair in a key passes")
	}
}

// own decodes itself.
type own struct{ Text string }

func (o *own) UnmarshalJSON(b []byte) error { o.Text = string(b); return nil }

type common struct {
	Seed int `json:"seed"`
}

// The key of a field is compared letter by letter, at any depth. A key that is a field but for its case is an error, whether
// the field is there too or not. The keys of maps, and those of values that decode themselves, are free.
func TestExactKeys(t *testing.T) {
	type entry struct {
		Name string   `json:"name"`
		Fee  *float64 `json:"fee,omitempty"`
	}
	type file struct {
		common
		Experts []*entry           `json:"experts"`
		By      map[string]entry   `json:"by"`
		Pair    [2]entry           `json:"pair"`
		Fees    map[string]float64 `json:"fees"`
		Raw     json.RawMessage    `json:"raw"`
		Any     any                `json:"any"`
		Own     own                `json:"own"`
		Plain   int
		Hidden  int `json:"-"`
	}
	for text, want := range map[string]string{
		`{"seed":1,"experts":[{"name":"a","fee":1}],"by":{"A":{"fee":1},"a":{"fee":2}},"pair":[{"fee":1},{}],"Plain":1}`: "",
		`{"fees":{"Fee":1,"fee":2},"raw":{"Seed":1,"seed":2},"any":{"a":1,"A":2},"own":{"Text":1,"text":2}}`:             "",
		`{"seed":1,"Seed":2}`: `key "Seed" must be spelt "seed"`,
		`{"Seed":2}`:          `key "Seed" must be spelt "seed"`,
		`{"ſeed":2}`:          `must be spelt "seed"`,
		`{"plain":1}`:         `must be spelt "Plain"`,
		"{\"experts\":[{\"name\":\"a\"},\n{\"Fee\":0.5}]}":  `key "Fee" must be spelt "fee" (line 2 of the text)`,
		`{"experts":[{"fee":0.05,"Fee":0.5}]}`:              `key "Fee" must be spelt "fee"`,
		`{"by":{"x":{"\u0046ee":1}}}`:                       `must be spelt "fee"`,
		`{"pair":[{},{"NAME":"a"}]}`:                        `must be spelt "name"`,
		`{"any":{"seed":1},"raw":[{}],"EXPERTS":[{"a":1}]}`: `must be spelt "experts"`,
	} {
		for name, read := range map[string]func([]byte, any) error{"Unmarshal": Unmarshal, "UnmarshalAll": UnmarshalAll} {
			got := ""
			if err := read([]byte(text), new(file)); err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("%s of %s: %q, expected %q", name, text, got, want)
			}
		}
	}
}

// UnmarshalAll takes no key that is no field, and nothing after the value.
func TestUnmarshalAll(t *testing.T) {
	for text, want := range map[string]string{`{"seed":1} `: "", `{"seed":1,"more":2}`: `unknown field "more"`, `{"seed":1} {}`: "after the JSON value", `{"seed":1}]`: "after", `{"seed":`: "EOF"} {
		got := ""
		if err := UnmarshalAll([]byte(text), new(common)); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, expected %q", text, got, want)
		}
	}
	if err := Unmarshal([]byte(`{"seed":1,"more":2}`), new(common)); err != nil {
		t.Error(err)
	}
}

// FuzzCheck: for JSON that the decoder accepts, duplicate keys are reported if and only if there are any.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[{"b":1,"b":2}],"c":"\"{"}`, `[{},{"\u0061":0,"a":1}]`, `"\ud800"`, `{"`, `]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Check(text) // must not panic on any input
		if !json.Valid(text) || err != nil && !strings.Contains(err.Error(), "duplicate") {
			return
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		if twice := repeated(t, d); twice != (err != nil) {
			t.Fatalf("%q: %v, but repeated is %v", text, err, twice)
		}
	})
}

// repeated reads one value by tokens and reports whether an object in it has a duplicate key.
func repeated(t *testing.T, d *json.Decoder) (twice bool) {
	token, err := d.Token()
	if err != nil {
		t.Fatal(err)
	}
	open, isOpen := token.(json.Delim)
	if !isOpen {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprint(key)
			twice = twice || seen[name]
			seen[name] = true
		}
		twice = repeated(t, d) || twice
	}
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	return twice
}

func BenchmarkCheck(b *testing.B) {
	row := []byte(`{"id":"a","features":[` + strings.Repeat("0.123456789012345,", 100_000) + `1]}`)
	b.SetBytes(int64(len(row)))
	for b.Loop() {
		if err := Check(row); err != nil {
			b.Fatal(err)
		}
	}
}
