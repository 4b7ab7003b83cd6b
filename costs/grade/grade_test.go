package grade

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// open makes a grader of settings that are right.
func open(t testing.TB, kind string, settings map[string]any) Grader {
	t.Helper()
	g, err := Open(context.Background(), Config{kind, settings}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// score is the score of one answer.
func score(t testing.TB, g Grader, answer string, references ...string) float64 {
	t.Helper()
	scores, err := g.Grade(context.Background(), []Answer{{Text: answer, References: references}})
	if err != nil {
		t.Fatal(err)
	}
	return scores[0]
}

func TestScores(t *testing.T) {
	type s = map[string]any
	for _, c := range []struct {
		kind, answer, reference string
		settings                s
		want                    float64
	}{
		{"exact", " the  Eiffel Tower\n", "The Eiffel tower", nil, 1},
		{"exact", "Eiffel Tower", "the Eiffel Tower", nil, 0},
		{"exact", "Eiffel Tower.", "«the Eiffel Tower»", s{"ignore": []any{"case", "punctuation", "articles", "space"}}, 1},
		{"exact", "paris", "Paris", s{"ignore": []any{}}, 0},
		{"exact", "Cafe\u0301", "Café", s{"ignore": []any{}}, 1},
		{"exact", "<think>It is London.</think>\nParis", "Paris", nil, 1},
		{"f1", "the cat sat", "a cat sat down", nil, 0.8},
		{"f1", "...", "", nil, 1},
		{"f1", "dog", "cat", nil, 0},
		{"number", "16 - 3 - 4 = 9 eggs, 9 * 2 = $18.", "18", nil, 1},
		{"number", "#### 1,234", "She has 3 and 4.\n#### 1234", s{"after": "####"}, 1},
		{"number", "#### 12 of 100", "12", s{"after": "####"}, 1},
		{"number", "It is −5 °C", "-5", nil, 1},
		{"number", "-$5.50", "-5.5", nil, 1},
		{"number", "the years 3-5", "5", nil, 1},
		{"number", "GPT-4 says 7 in v1.2", "7", nil, 1},
		{"number", "H2O", "2", nil, 0},
		{"number", "答案是42。", "42", nil, 1},
		{"number", "1.234,5", "1234.5", s{"decimal": ","}, 0}, // the reference has a decimal comma, too
		{"number", "1.234,5", "1234,5", s{"decimal": ","}, 1},
		{"number", "1'234", "1 234", nil, 0}, // 1 234 is two numbers
		{"number", "3/4", "0.75", nil, 1},
		{"number", "1 1/2 cups", "1.5", nil, 1},
		{"number", `\boxed{\frac{3}{4}}`, "0.75", nil, 1},
		{"number", `-1\frac{1}{2}`, "-1.5", nil, 1},
		{"number", "-2½", "-2.5", nil, 1},
		{"number", "3/4", "4", s{"fractions": false}, 1},
		{"number", "12/05/2021", "2021", nil, 1},
		{"number", "1.5 × 10^3", "1500", nil, 1},
		{"number", `1.5\times 10^{-3}`, "0.0015", nil, 1},
		{"number", "2.5e3", "2500", nil, 1},
		{"number", "12 %", "12", nil, 1},
		{"number", "12%", "0.12", s{"percent": "divide"}, 1},
		{"number", "3.14", "3.14159", s{"absolute": 0.01}, 1},
		{"number", "1.29", "1", s{"absolute": 0.29}, 1},
		{"number", "101", "100", s{"relative": 0.01}, 1},
		{"number", "102", "100", s{"relative": 0.01}, 0},
		{"number", "10000000000000000001", "10000000000000000000", nil, 0},
		{"number", "first 1 then 2", "1", s{"take": "first"}, 1},
		{"number", "first 1 then 2", "2", s{"take": "only"}, 0},
		{"number", "", "0", nil, 0},
		{"regexp", "So the answer is (B).", "b", s{"pattern": `answer is \(([A-D])\)`}, 1},
		{"regexp", "A, no: B", "B", s{"pattern": `[A-D]`, "take": "last"}, 1},
		{"regexp", "A, no: B", "B", s{"pattern": `[A-D]`}, 0},
		{"regexp", "x=1 y=2", "2", s{"pattern": `x=(\d) y=(\d)`, "group": 2}, 1},
		{"json", `{"a": 1.0, "b": "X", "c": 0}`, `{"a": 1, "b": "x"}`, s{"ignore": []any{"case"}}, 1},
		{"json", "```json\n{\"a\": \"1\"}\n```", `{"a": 1}`, nil, 0},
		{"json", `{"a": {"b": [1, 2]}, "d": null}`, `{"a": {"b": [1, 2.0]}, "d": false, "e": 5}`, s{"fields": []any{"a.b", "d"}}, 0.5},
		{"json", `{"a": 1, "a": 1}`, `{"a": 1}`, nil, 0},
		{"json", `{"a": 1} and more`, `{"a": 1}`, nil, 0},
	} {
		if c.reference == "1 234" || c.reference == "1234.5" && c.settings != nil {
			if err := open(t, c.kind, c.settings).Check(c.reference); c.reference == "1 234" && err == nil {
				t.Errorf("%q is one number", c.reference)
			}
			continue
		}
		if got := score(t, open(t, c.kind, c.settings), c.answer, c.reference); fmt.Sprintf("%.9f", got) != fmt.Sprintf("%.9f", c.want) {
			t.Errorf("%s %v: %q against %q: %v, not %v", c.kind, c.settings, c.answer, c.reference, got, c.want)
		}
	}
}

func TestBestReferenceCounts(t *testing.T) {
	g := open(t, "f1", nil)
	if got := score(t, g, "New York City", "Boston", "New York", "York"); got != 0.8 {
		t.Errorf("%v", got)
	}
}

func TestMatchAloneNeedsNoReference(t *testing.T) {
	g := open(t, "regexp", map[string]any{"pattern": "(?i)i am sorry", "match_only": true})
	if g.NeedsReference() || score(t, g, "I am sorry, no.") != 1 || score(t, g, "Yes.") != 0 {
		t.Error("wrong")
	}
}

// Settings that cannot be, and references that nothing can match, are errors.
func TestBadSettingsAndReferences(t *testing.T) {
	type s = map[string]any
	for says, c := range map[string]Config{
		`unknown kind "bleu" of a grader; known are `: {"bleu", nil},
		"kind: not set":                       {},
		`unknown key "casing"`:                {"exact", s{"casing": true}},
		`ignore: unknown word "accents"`:      {"exact", s{"ignore": []any{"accents"}}},
		`ignore: "case" is a duplicate`:       {"f1", s{"ignore": []any{"case", "case"}}},
		"take is \"best\"":                    {"number", s{"take": "best"}},
		"absolute is -1":                      {"number", s{"absolute": -1}},
		"relative is 1;":                      {"number", s{"relative": 1}},
		"percent is \"keep\"":                 {"number", s{"percent": "keep"}},
		"decimal is \";\"":                    {"number", s{"decimal": ";"}},
		"pattern: not set":                    {"regexp", nil},
		"pattern: error parsing":              {"regexp", s{"pattern": "("}},
		"matches an empty text":               {"regexp", s{"pattern": "[A-D]*"}},
		"group is 2; the pattern has":         {"regexp", s{"pattern": "(a)", "group": 2}},
		"fields: \"a..b\" is not the name":    {"json", s{"fields": []any{"a..b"}}},
		"fields: expected a list":             {"json", s{"fields": "a"}},
		"ignore: unknown word \"x\"":          {"regexp", s{"pattern": "a", "ignore": []any{"x"}}},
		"decimal: expected a string":          {"number", s{"decimal": 1}},
		"relative is NaN; it must be finite":  {"number", s{"relative": nan()}},
		"fields: \"a\" is a duplicate":        {"json", s{"fields": []any{"a", "a"}}},
		"after has no value; remove":          {"number", s{"after": nil}},
		"take is \"only\"; it must be first ": {"regexp", s{"pattern": "a", "take": "only"}},
	} {
		if _, err := Open(context.Background(), c, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", c, err)
		}
	}
	for _, c := range []struct{ kind, reference, says string }{
		{"number", "many", "has no number"},
		{"number", "3 or 4", "has more than one number"},
		{"f1", "the", "has nothing left to compare (ignore: case, punctuation, articles, space)"},
		{"exact", " ", "has nothing left"},
		{"json", "{", "is not a JSON object: unexpected EOF"},
		{"json", "{}", "has no fields"},
		{"json", "[1]", "is not a JSON object: a JSON object is expected"},
	} {
		_, err := open(t, c.kind, nil).Grade(context.Background(), []Answer{{Text: "1", References: []string{c.reference}}})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: reference %q: %v", c.kind, c.reference, err)
		}
	}
	if _, err := open(t, "exact", nil).Grade(context.Background(), []Answer{{Text: "a"}}); err == nil {
		t.Error("no reference is needed")
	}
}

func nan() float64 { z := 0.0; return z / z }

// Any decimal number is read exactly, however its thousands are separated, and whatever words are around it.
func TestNumbersAreReadExactly(t *testing.T) {
	g := open(t, "number", nil).(texts).comparer.(number)
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(0, 1<<62).Draw(t, "whole")
		part := rapid.StringMatching(`(\.[0-9]{1,6})?`).Draw(t, "part")
		sign := rapid.SampledFrom([]string{"", "-", "\u2212"}).Draw(t, "sign")
		separator := rapid.SampledFrom([]string{"", ",", "'", "\u202f"}).Draw(t, "separator")
		before := rapid.SampledFrom([]string{"", "It is ", "x1 = ", "(", "**", "$", "答案是", "3 and 4/5, so "}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", ".", " km", "kg", "**.", ")", "%", ", I think", " €"}).Draw(t, "after")
		text := before + sign + grouped(whole, separator) + part + after
		if before == "答案是" && sign != "" {
			text = grouped(whole, separator) + part + after // a hyphen after a letter is no sign
			sign = ""
		}
		want, _ := new(big.Rat).SetString(fmt.Sprint(whole) + part)
		if sign != "" {
			want.Neg(want)
		}
		got, _ := g.read(text, takeLast)
		if got == nil || got.Cmp(want) != 0 {
			t.Fatalf("%q is %v, not %v", text, got, want)
		}
	})
}

// grouped writes a number with a separator after every three digits.
func grouped(n int64, separator string) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + separator + text[at:]
	}
	return text
}

func TestReferencesOfACell(t *testing.T) {
	for cell, want := range map[string]string{`["a", "b"]`: "[a b]", `[""]`: "[]"} {
		if got, err := References(cell, true); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %q, %v", cell, got, err)
		}
	}
	for cell, says := range map[string]string{`[1]`: "is not a JSON list of strings", `"a"`: "is not a JSON list", `[]`: "has 0 references", `["a", null]`: "element 1 of the list is null", "": "is empty"} {
		if _, err := References(cell, true); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", cell, err)
		}
	}
	if got, err := References("[1]", false); err != nil || got[0] != "[1]" {
		t.Errorf("%q, %v", got, err)
	}
}
