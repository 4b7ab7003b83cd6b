package build

import (
	"fmt"
	"strings"
	"testing"
)

// TestKeysOverHTTPAreSaid: a key that leaves this machine unencrypted is said once a service, without the key; other
// services are not mentioned, and neither are those without a key.
func TestKeysOverHTTPAreSaid(t *testing.T) {
	t.Setenv("SOME_KEY", "sk-very-secret-1234567890")
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	q := newAsking(t.TempDir(), nil, note)
	for range 3 {
		for _, service := range []string{
			"http://chat.example/v1", "HTTP://10.0.0.7:8000/v1", "https://chat.example/v1", "http://localhost:8000", "http://LOCALHOST.:8000",
			"http://127.0.0.1:1", "http://127.9.9.9", "http://[::1]:2", "http://api.localhost/v1",
		} {
			q.warnOpen(service)
		}
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "http://chat.example gets its key") || !strings.Contains(notes[1], "http://10.0.0.7:8000 gets") {
		t.Errorf("said %q", notes)
	}

	// No such host is asked for long: the name is reserved, and there are no retries.
	notes = nil
	s := chatSetup(t, 0)
	s.asking.note = note
	for _, key := range []string{"", "SOME_KEY", "SOME_KEY"} {
		c := newChat(t, s, map[string]any{"base_url": "http://service.invalid/v1", "model": "m", "retries": 0, "timeout": 1, "key": key})
		if _, err := c.Complete(t.Context(), []conversation{say("hello")}); err == nil {
			t.Error("an answer of a host that does not exist")
		}
	}
	for _, search := range []map[string]any{{"key": "SOME_KEY"}, {"user": "SOME_KEY", "password": "SOME_KEY"}, {}} {
		cfg := searchService{URL: "http://search.invalid", Index: "wiki", Page: "id", Text: "text", Timeout: 1, patience: patience{Backoff: 0.1}, Concurrency: 1}
		cfg.Key, _ = search["key"].(string)
		cfg.User, _ = search["user"].(string)
		cfg.Password, _ = search["password"].(string)
		if _, err := openSearch(t.Context(), s, &cfg); err == nil {
			t.Error("pages of a host that does not exist")
		}
	}
	if len(notes) != 2 || strings.Contains(strings.Join(notes, ""), "very-secret") {
		t.Errorf("said %q", notes)
	}
}
