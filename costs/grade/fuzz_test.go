package grade

import (
	"context"
	"testing"
)

// FuzzGrade: no grader crashes, scores are from 0 to 1, equal texts have the score 1, and so has an answer that is a
// reference that a grader accepts.
func FuzzGrade(f *testing.F) {
	for _, text := range []string{"", "the 1,234.5e-3 cats", `{"a": {"b": [1e400, "x", null]}}`, "1 1/2 × 10^{9}%", `\frac{1}{0}`, "<think>x</think> B", "½/0", "-$5/3", "1.2.3", "\xff9\u202f000"} {
		f.Add(text, "42")
		f.Add("#### 5", text)
	}
	var graders []Grader
	for _, c := range []Config{
		{"exact", nil},
		{"f1", nil},
		{"number", map[string]any{"after": "####", "percent": "divide", "relative": 0.5}},
		{"number", map[string]any{"decimal": ",", "take": "only", "fractions": false}},
		{"regexp", map[string]any{"pattern": `\b([A-D])\b|(\d+)`, "take": "last"}},
		{"regexp", map[string]any{"pattern": `\d+`, "match_only": true}},
		{"json", nil},
		{"json", map[string]any{"fields": []any{"a.b"}, "ignore": []any{"case"}}},
	} {
		graders = append(graders, open(f, c.Kind, c.Settings))
	}
	f.Fuzz(func(t *testing.T, answer, reference string) {
		for i, g := range graders {
			key, ok := g.Key(answer)
			if again, ok2 := g.Key(answer); again != key || ok2 != ok {
				t.Fatalf("%d: keys %q and %q", i, key, again)
			}
			if g.Check(reference) != nil || !g.NeedsReference() {
				continue
			}
			scores, err := g.Grade(context.Background(), []Answer{{Text: answer, References: []string{reference}}, {Text: reference, References: []string{reference}}})
			if err != nil || !(scores[0] >= 0 && scores[0] <= 1) {
				t.Fatalf("%d: %v, %v", i, scores, err)
			}
			_, same := g.Key(reference)
			if _, isText := g.(texts).comparer.(pattern); !isText && same && WithoutThoughts(reference) == reference && scores[1] != 1 {
				if n, isNumber := g.(texts).comparer.(number); !isNumber || n.take != takeOnly {
					t.Fatalf("%d: %q against itself has %v", i, reference, scores[1])
				}
			}
		}
	})
}
