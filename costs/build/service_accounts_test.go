package build

import (
	"fmt"
	"strings"
	"testing"
)

// TestOpenServicesAreSaid: a key that leaves this machine unencrypted is said once a service; others are not mentioned.
func TestOpenServicesAreSaid(t *testing.T) {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	a := newServiceAccounts(note)
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
