package session

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func chatOf(t testing.TB, text string) []Message {
	t.Helper()
	m, err := ReadChat([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestLoops(t *testing.T) {
	const call = `{"role":"assistant","tool_calls":[{"id":"1"}]}`
	for text, want := range map[string]bool{
		`[{"role":"user","content":"x"}]`:                                                                                  false,
		`[{"role":"user","content":"x"},` + call + `]`:                                                                     false,
		`[{"role":"user","content":"x"},` + call + `,{"role":"tool","tool_call_id":"1"}]`:                                  true,
		`[{"role":"user","content":"x"},` + call + `,{"role":"tool"},{"role":"tool"}]`:                                     true,
		`[{"role":"user","content":"x"},` + call + `,{"role":"tool"},{"role":"user","content":"y"}]`:                       false,
		`[{"role":"user","content":"x"},{"role":"assistant","content":"a"},{"role":"tool"}]`:                               false,
		`[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[]},{"role":"tool"}]`:                             false,
		`[{"role":"user","content":"x"},{"role":"assistant","function_call":{"name":"f"}},{"role":"function","name":"f"}]`: true,
		`[{"role":"tool"}]`: false,
		`[]`:                false,
	} {
		if got := InLoop(chatOf(t, text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, bad := range []string{``, `{}`, `[1]`, `["x"]`, `[{"role":1}]`} {
		if _, err := ReadChat([]byte(bad)); !errors.Is(err, ErrMessages) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// FuzzReadChat reads any text without a panic.
func FuzzReadChat(f *testing.F) {
	f.Add([]byte(`[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{}]},{"role":"tool"}]`))
	d := newDigester("")
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ReadChat(text)
		if err == nil {
			InLoop(m)
			d.conversation(&Facts{Messages: m, Bytes: len(text)})
		}
	})
}

// conversations tells requests apart as callers mean them.
func TestWhichConversation(t *testing.T) {
	s, settings := mustOpen(t, DefaultSettings()), DefaultSettings()
	now := time.Unix(1e9, 0)
	answer := func(f Facts) (id string, number int) {
		turn := s.Begin(now, settings, f)
		if turn == nil {
			t.Fatal("no conversation")
		}
		e := Expert{Name: "a", Cache: "a", Price: func(float64) (Price, bool) { return Price{1, 1, 1, time.Hour}, true }}
		turn.Done(Answer{Expert: &e, Advice: &Advice{}, Cached: -1})
		return turn.ID(), turn.Number()
	}
	const one, two = `{"role":"system","content":"s"},{"role":"user","content":"x"}`, `,{"role":"assistant","content":"a"},{"role":"user","content":"y"}`
	first, n := answer(Facts{Messages: chatOf(t, "["+one+"]")})
	if n != 1 {
		t.Errorf("turn %d", n)
	}
	same, n := answer(Facts{Messages: chatOf(t, "["+one+two+"]")})
	if same != first || n != 2 {
		t.Errorf("the next turn is %s, number %d, of %s", same, n, first)
	}
	if _, n = answer(Facts{Messages: chatOf(t, "["+one+two+"]")}); n != 3 {
		t.Errorf("the turn again is number %d", n)
	}
	if _, n = answer(Facts{Messages: chatOf(t, "["+one+`,{"role":"assistant","content":"other"},{"role":"user","content":"y"}]`)}); n != 1 {
		t.Errorf("another conversation with the same beginning is turn %d", n)
	}
	for name, f := range map[string]Facts{
		"another caller": {Client: "b", Messages: chatOf(t, "["+one+two+"]")}, "another user": {User: "u", Messages: chatOf(t, "["+one+two+"]")},
		"another beginning": {Messages: chatOf(t, `[{"role":"user","content":"z"}]`)},
	} {
		if id, n := answer(f); id == first || n != 1 {
			t.Errorf("%s: %s, turn %d", name, id, n)
		}
	}
	named, _ := answer(Facts{Named: "chat", Messages: chatOf(t, "["+one+"]")})
	if id, n := answer(Facts{Named: "chat", Messages: chatOf(t, `[{"role":"user","content":"all new"}]`)}); id != named || n != 2 {
		t.Errorf("named: turn %d", n)
	}
	if id, n := answer(Facts{Named: "chat", Client: "b", Messages: chatOf(t, "["+one+"]")}); id == named || n != 1 {
		t.Errorf("of another caller: turn %d", n)
	}
	if turn := s.Begin(now, settings, Facts{}); turn != nil {
		t.Error("a request without messages has a conversation")
	}
}

// Protocols that name their responses go on by these names.
func TestResponses(t *testing.T) {
	s, settings := mustOpen(t, DefaultSettings()), DefaultSettings()
	e := Expert{Name: "a", Cache: "a", Price: func(float64) (Price, bool) { return Price{1, 0.1, 1, time.Hour}, true }}
	p := Policy{Digest: "p", Experts: []Expert{e}, Advice: make([]Advice, 1)}
	now, id := time.Unix(1e9, 0), ""
	for i := range 4 {
		f := Facts{Bytes: 40_000, Messages: chatOf(t, fmt.Sprintf(`[{"role":"user","content":"%d"}]`, i))}
		if i > 0 {
			f.Previous, f.Bytes = fmt.Sprint("r", i-1), 400
		}
		turn := s.Begin(now, settings, f)
		plan := turn.Plan(&p)
		if i > 0 && (turn.Number() != i+1 || turn.ID() != id) {
			t.Errorf("turn %d is number %d of %s, not %s", i, turn.Number(), turn.ID(), id)
		}
		if cold := plan.states[0].could == 0; cold != (i == 0) {
			t.Errorf("turn %d is cold: %v", i, cold)
		}
		id = turn.ID()
		turn.Done(Answer{Plan: plan, Expert: &e, Advice: &p.Advice[0], ID: fmt.Sprint("r", i), Tokens: int64(10_000 + 100*i), Cached: 0})
	}
	if turn := s.Begin(now, settings, Facts{Client: "b", Previous: "r3", Messages: chatOf(t, `[{"role":"user","content":"z"}]`)}); turn.Number() != 1 {
		t.Error("another caller goes on with it")
	}
}
