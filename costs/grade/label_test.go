package grade

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// factLabels are those of claims about facts.
var factLabels = []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}

func TestAnswersBecomeLabels(t *testing.T) {
	for _, c := range []struct {
		answer, want string
		strict       bool
	}{
		{"SUPPORTS", "SUPPORTS", true},
		{" REFUTES\n", "REFUTES", true},
		{"NOT ENOUGH INFO", "NOT ENOUGH INFO", true},
		{"NOT_ENOUGH_INFO", "NOT ENOUGH INFO", true},
		{"NOT-ENOUGH-INFO", "NOT ENOUGH INFO", false},
		{"not enough info", "NOT ENOUGH INFO", false},
		{"**Supports**", "SUPPORTS", false},
		{"\"REFUTES\".", "REFUTES", false},
		{"`NOT_ENOUGH_INFO`", "NOT ENOUGH INFO", false},
		{"The evidence refutes the claim: REFUTES", "REFUTES", false},
		{"<think>SUPPORTS? No.</think>\n\nREFUTES", "REFUTES", false},
		{"it SUPPORTS, or rather</think> NOT ENOUGH INFO", "NOT ENOUGH INFO", false},
		{"<think>SUPPORTS, because", "", false},
		{"SUPPORTS or REFUTES", "", false},
		{"I do not have enough information", "", false},
		{"UNSUPPORTS", "", false},
		{"", "", false},
		{"\xff\xfe", "", false},
	} {
		label, strict, ok := ParseLabel(c.answer, factLabels)
		if label != c.want || strict != c.strict || ok != (c.want != "") {
			t.Errorf("%q: got %q, strict %v, ok %v", c.answer, label, strict, ok)
		}
	}
}

// A label whose words occur in another label is distinguished from it.
func TestLabelsWithinLabels(t *testing.T) {
	labels := []string{"true", "not true", "mostly true"}
	for answer, want := range map[string]string{
		"True.": "true", "It is NOT TRUE.": "not true", "(mostly-true)": "mostly true", "true, not not true": "",
	} {
		if got, _, _ := ParseLabel(answer, labels); got != want {
			t.Errorf("%q: got %q, want %q", answer, got, want)
		}
	}
}

// Whatever an answer is, the label is one of those there are, and strict
// answers are the label alone.
func TestParsingHoldsItsLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"SUPPORTS", "refutes", "not", "enough", "info", "NOT_ENOUGH_INFO", " ", "<think>", "</think>", "\n", "x", "ſ", "\xc3"})
		answer := strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "answer"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
		label, strict, ok := ParseLabel(answer, factLabels)
		if ok != (label != "") || strict && !ok {
			t.Fatalf("%q: label %q, strict %v, ok %v", answer, label, strict, ok)
		}
		if strict && strings.ReplaceAll(strings.TrimSpace(answer), "_", " ") != label {
			t.Fatalf("%q is not strictly %q", answer, label)
		}
		again, _, _ := ParseLabel("so: "+label, factLabels)
		if again != label {
			t.Fatalf("%q does not name itself", label)
		}
	})
}
