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
		if err := Check([]byte(text), false); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, expected %q", text, got, want)
		}
	}
}

// A struct accepts a field in any case, so two cases are a duplicate key; a map keeps them apart.
func TestUnmarshal(t *testing.T) {
	var s struct{ Fee float64 }
	var m map[string]float64
	text := []byte(`{"fee":1,"FEE":2}`)
	if err := Unmarshal(text, &s); err == nil {
		t.Errorf("two spellings of one field: %v", s)
	}
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

// FuzzCheck: for JSON that the decoder accepts, duplicate keys are reported if and only if there are any.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[{"b":1,"b":2}],"c":"\"{"}`, `[{},{"\u0061":0,"a":1}]`, `"\ud800"`, `{"`, `]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Check(text, false) // must not panic on any input
		if !json.Valid(text) || err != nil && !strings.Contains(err.Error(), "twice") {
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
		if err := Check(row, false); err != nil {
			b.Fatal(err)
		}
	}
}
