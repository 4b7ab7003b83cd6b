package build

import (
	"fmt"
	"testing"

	"pipe/costs/service"
	"pipe/internal/progress"
)

// chatSetup is what a constructor of a chat gets, with a folder of answers of its own; a budget of 0 is none.
func chatSetup(t testing.TB, budget float64) *Setup {
	t.Helper()
	var money *Budget
	if budget > 0 {
		money = newBudget(budget)
	}
	s := (&Build{Inputs: make(Inputs), Labels: claimLabels, Progress: progress.Silent{}}).Setup("chat")
	shareChatSession(s.Build, t.TempDir(), money)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newChat makes an endpoint, closed at the end.
func newChat(t testing.TB, s *Setup, settings map[string]any) chat {
	t.Helper()
	c, err := newEndpointChat(t.Context(), s, settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say is a conversation of one message.
func say(format string, args ...any) conversation {
	return conversation{{Role: "user", Content: fmt.Sprintf(format, args...)}}
}

// chatsOf returns the chat session of a setup.
func chatsOf(t testing.TB, s *Setup) *chatSession {
	t.Helper()
	c, err := chatSessionOf(s.Build)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// noteTo makes the accounts of a setup, which are not open yet, note what they do.
func noteTo(s *Setup, note func(format string, args ...any)) {
	Shared(s.Build, "", func() (*service.Accounts, error) { return service.NewAccounts(note), nil })
}
