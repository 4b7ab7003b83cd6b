package language

import (
	"strings"
	"testing"

	"pipe/experts/builder/part"
)

// factLabels are those of claims about facts.
var factLabels = []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}

func TestPagesAreNamedAsPeopleWriteThem(t *testing.T) {
	shown := part.AdvicePayload{Passages: []part.Passage{{Page: "Soul_Food_-LRB-film-RRB-", Text: "It is a film."}}}
	if got := ClaimConversation(factLabels, &part.Instance{Text: "c"}, shown)[1].Content; !strings.Contains(got, "[1] Soul Food (film): It is a film.") {
		t.Errorf("the passage is shown as %q", got)
	}
}

func TestClaimConversation(t *testing.T) {
	in := &part.Instance{Text: "Oil is wet."}
	c := ClaimConversation(factLabels, in, part.AdvicePayload{})
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
	c = ClaimConversation(factLabels, in, part.AdvicePayload{Passages: []part.Passage{{Page: "Oil", Text: "Oil is a liquid."}, {Page: "Wet", Text: "Wet is a state."}}})
	if strings.Contains(c[1].Content, "EMPTY") || !strings.Contains(c[1].Content, "[1] Oil: Oil is a liquid.\n[2] Wet: Wet is a state.") {
		t.Errorf("with evidence: %q", c[1].Content)
	}
}
