package service

import "testing"

func TestChatURL(t *testing.T) {
	for base, want := range map[string]string{
		"http://h/v1": "http://h/v1/chat/completions", "http://h/v1/": "http://h/v1/chat/completions", " http://h/v1 ": "http://h/v1/chat/completions",
		"http://h/v1/chat/completions": "http://h/v1/chat/completions", "http://h/v1/chat/completions/ ": "http://h/v1/chat/completions",
		"http://h": "http://h/chat/completions", "http://h/chat": "http://h/chat/chat/completions",
	} {
		if got := ChatURL(base); got != want {
			t.Errorf("%q: got %s, want %s", base, got, want)
		}
	}
}
