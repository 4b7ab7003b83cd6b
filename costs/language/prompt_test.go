package language

import (
	"strings"
	"testing"

	"pipe/costs/builder/part"

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

func TestPagesAreNamedAsPeopleWriteThem(t *testing.T) {
	shown := part.Shown{Passages: []part.Passage{{Page: "Soul_Food_-LRB-film-RRB-", Text: "It is a film."}}}
	if got := ClaimConversation(factLabels, &part.Instance{Text: "c"}, shown)[1].Content; !strings.Contains(got, "[1] Soul Food (film): It is a film.") {
		t.Errorf("the passage is shown as %q", got)
	}
}

func TestClaimConversation(t *testing.T) {
	in := &part.Instance{Text: "Oil is wet."}
	c := ClaimConversation(factLabels, in, part.Shown{})
	if len(c) != 2 || c[0].Role != "system" || c[1].Role != "user" {
		t.Fatalf("roles: %+v", c)
	}
	for _, m := range c {
		if !strings.Contains(m.Content, "exactly one of these labels") || !strings.Contains(m.Content, "SUPPORTS, REFUTES, NOT_ENOUGH_INFO") {
			t.Errorf("%s does not say what to answer: %q", m.Role, m.Content)
		}
	}
	if !strings.Contains(c[1].Content, in.Text) || !strings.Contains(c[1].Content, "EMPTY") {
		t.Errorf("without evidence: %q", c[1].Content)
	}
	c = ClaimConversation(factLabels, in, part.Shown{Passages: []part.Passage{{Page: "Oil", Text: "Oil is a liquid."}, {Page: "Wet", Text: "Wet is a state."}}})
	if strings.Contains(c[1].Content, "EMPTY") || !strings.Contains(c[1].Content, "[1] Oil: Oil is a liquid.\n[2] Wet: Wet is a state.") {
		t.Errorf("with evidence: %q", c[1].Content)
	}
}
