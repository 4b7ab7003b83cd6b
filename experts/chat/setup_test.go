package chat

import (
	"fmt"
	"os"
	"testing"

	"pipe/experts/builder/part"
	"pipe/experts/language"
	"pipe/internal/progress"
)

// chatSetup is what a constructor of a chat gets, with a folder of answers of its own; a budget of 0 is none.
func chatSetup(t testing.TB, budget float64) *part.Setup {
	t.Helper()
	return chatSetupSaying(t, budget, func(string, ...any) {})
}

// chatSetupSaying is chatSetup with a note to the user.
func chatSetupSaying(t testing.TB, budget float64, note func(string, ...any)) *part.Setup {
	t.Helper()
	var money *Budget
	if budget > 0 {
		money = newBudget(budget)
	}
	s := (&part.Build{Inputs: make(part.Inputs), Progress: noted{note: note}}).Setup("chat")
	OpenSession(s.Build, t.TempDir(), money)
	t.Cleanup(func() {
		if err := s.Build.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// noted passes notes on.
type noted struct {
	progress.Silent
	note func(string, ...any)
}

func (n noted) Note(format string, args ...any) { n.note(format, args...) }

// session is the session of a setup.
func session(t testing.TB, s *part.Setup) *Session {
	t.Helper()
	q, err := sessionOf(s.Build)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// newChat makes an endpoint, closed at the end.
func newChat(t testing.TB, s *part.Setup, settings map[string]any) Model {
	t.Helper()
	c, err := newEndpointChat(t.Context(), s, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say is a conversation of one message.
func say(format string, args ...any) language.Conversation {
	return language.Conversation{{Role: "user", Content: fmt.Sprintf(format, args...)}}
}

// readText reads a file.
func readText(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
