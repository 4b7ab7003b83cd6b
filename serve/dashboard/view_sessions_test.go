package dashboard

import (
	"strings"
	"testing"
)

// The page and its JSON have what was counted of sessions, and nothing without them.
func TestSessions(t *testing.T) {
	v := &view{state: &State{}, sessions: &SessionsState{Sessions: 3, Turns: 12, Switches: 2, Priced: 4, Looped: 1, Predicted: 1.5, Billed: 1.25, Open: 3}}
	s := v.sessions.section()
	var all []string
	for _, term := range s.Blocks[0].Terms {
		all = append(all, term.About)
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"3 since the start", "12, 2 by another expert", "4 because of the price", "1.5", "1.25"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if about := (&SessionsState{Turns: 1}).section().Blocks[0].Terms[3].About; !strings.Contains(about, "not known") {
		t.Errorf("%q", about)
	}
	if p := newStateParts(v); !strings.Contains(string(p.Sessions), `"switches":2`) {
		t.Errorf("%s", p.Sessions)
	}
	if p := newStateParts(&view{state: &State{}}); p.Sessions != nil {
		t.Errorf("%s", p.Sessions)
	}
}
