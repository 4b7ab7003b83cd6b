package textfile

import (
	"testing"

	"pgregory.net/rapid"
)

// Names that are probably meant come first; the others keep their order.
func TestListedNear(t *testing.T) {
	have := []string{"qid", "Model", "eval.correct", "usage", "question_id"}
	for name, want := range map[string]string{
		"eval.corect": "eval.correct, qid, and 3 more",
		"correct":     "eval.correct, qid, and 3 more",
		"model":       "Model, qid, and 3 more",
		"question":    "question_id, qid, and 3 more",
		"xyz":         "qid, Model, and 3 more",
		"q":           "qid, Model, and 3 more",
	} {
		if got := ListedNear(have, name, 2); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
}

// The distance is the one of the definition: nothing for equal texts, else the best of three last steps.
func TestEdits(t *testing.T) {
	var slow func(a, b string) int
	slow = func(a, b string) int {
		switch {
		case a == "" || b == "":
			return len(a) + len(b)
		case a[0] == b[0]:
			return slow(a[1:], b[1:])
		}
		return 1 + min(slow(a[1:], b), slow(a, b[1:]), slow(a[1:], b[1:]))
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching("[abc]{0,6}")
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := edits(a, b), slow(a, b); got != want {
			t.Fatalf("%q and %q: %d, not %d", a, b, got, want)
		}
	})
}
