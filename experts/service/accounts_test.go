package service

import (
	"fmt"
	"strings"
	"testing"
)

// TestOpenServicesAreSaid: a key that leaves this machine unencrypted is said once a service; others are not mentioned.
func TestOpenServicesAreSaid(t *testing.T) {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	a := NewAccounts(note)
	for range 3 {
		for _, service := range []string{
			"http://chat.example/v1", "HTTP://10.0.0.7:8000/v1", "https://chat.example/v1", "http://localhost:8000", "http://LOCALHOST.:8000",
			"http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:2", "http://api.localhost/v1",
		} {
			a.WarnOpen(service)
		}
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "http://chat.example gets its key") || !strings.Contains(notes[1], "http://10.0.0.7:8000 gets") {
		t.Errorf("said %q", notes)
	}
}

// TestAccountsAreShared: parts that pay with the same key at the same service have one account.
func TestAccountsAreShared(t *testing.T) {
	a := NewAccounts(t.Logf)
	one := a.Account("https://a.example", "KEY", 40, 0)
	if a.Account("https://a.example", "KEY", 1000, 0) != one {
		t.Error("two accounts of one key")
	}
	if a.Account("https://a.example", "OTHER", 0, 0) == one || a.Account("https://b.example", "KEY", 0, 0) == one || a.Unshared() == one {
		t.Error("one account for all")
	}
	if one.requests.Limit() != 40 {
		t.Errorf("%v requests per second", one.requests.Limit())
	}
}
