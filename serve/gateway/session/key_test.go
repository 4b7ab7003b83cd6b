package session

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chatOf is a conversation; texts in capitals are of the user.
func chatOf(texts ...string) (all []Message) {
	for _, text := range texts {
		all = append(all, Message{User: text == strings.ToUpper(text), Raw: []byte(text)})
	}
	return all
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
	one, two := chatOf("system", "X"), chatOf("system", "X", "answer", "Y")
	first, n := answer(Facts{Messages: one})
	if n != 1 {
		t.Errorf("turn %d", n)
	}
	same, n := answer(Facts{Messages: two})
	if same != first || n != 2 {
		t.Errorf("the next turn is %s, number %d, of %s", same, n, first)
	}
	if _, n = answer(Facts{Messages: two}); n != 3 {
		t.Errorf("the turn again is number %d", n)
	}
	if _, n = answer(Facts{Messages: chatOf("system", "X", "other", "Y")}); n != 1 {
		t.Errorf("another conversation with the same beginning is turn %d", n)
	}
	for name, f := range map[string]Facts{
		"another caller": {Client: "b", Messages: two}, "another user": {User: "u", Messages: two},
		"another beginning": {Messages: chatOf("Z")},
	} {
		if id, n := answer(f); id == first || n != 1 {
			t.Errorf("%s: %s, turn %d", name, id, n)
		}
	}
	named, _ := answer(Facts{Named: "chat", Messages: one})
	if id, n := answer(Facts{Named: "chat", Messages: chatOf("ALL NEW")}); id != named || n != 2 {
		t.Errorf("named: turn %d", n)
	}
	if id, n := answer(Facts{Named: "chat", Client: "b", Messages: one}); id == named || n != 1 {
		t.Errorf("of another caller: turn %d", n)
	}
	if turn := s.Begin(now, settings, Facts{}); turn != nil {
		t.Error("a request without messages has a conversation")
	}
}
