package chat

import (
	"fmt"
	"strings"
	"testing"

	"pipe/experts/language"
)

// TestKeysOverHTTPAreSaid: a key that leaves this machine unencrypted is said once a service, without the key; a service
// without a key is not mentioned.
func TestKeysOverHTTPAreSaid(t *testing.T) {
	t.Setenv("SOME_KEY", "sk-very-secret-1234567890")
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }

	// No such host is asked for long: the name is reserved, and there are no retries.
	s := chatSetupSaying(t, 0, note)
	for _, key := range []string{"", "SOME_KEY", "SOME_KEY"} {
		c := newChat(t, s, map[string]any{"base_url": "http://service.invalid/v1", "model": "m", "retries": 0, "timeout": 1, "key": key})
		if _, err := c.Complete(t.Context(), []language.Conversation{say("hello")}); err == nil {
			t.Error("an answer of a host that does not exist")
		}
	}
	if len(notes) != 1 || strings.Contains(notes[0], "very-secret") {
		t.Errorf("said %q", notes)
	}
}
