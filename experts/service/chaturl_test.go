package service

import (
	"strings"
	"testing"
)

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

func TestQueries(t *testing.T) {
	for want, query := range map[string]map[string]string{
		"http://h/x": nil, "http://h/x?api-version=2024-10-21": {"api-version": "2024-10-21"}, "http://h/x?a=1+%262&b=%C3%A9": {"b": "é", "a": "1 &2"},
	} {
		if got := WithQuery("http://h/x", query); got != want {
			t.Errorf("%v: got %s, want %s", query, got, want)
		}
	}
	for name, fine := range map[string]bool{
		"api-version": true, "deployment": true, "": false, "key": false, "API-Key": false, "api_key": false, "subscription-key": false, "sig": false, "keyboard": true,
	} {
		if err := CheckQuery(map[string]string{name: "secret-value"}); (err == nil) != fine || err != nil && strings.Contains(err.Error(), "secret-value") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCheckBase(t *testing.T) {
	for base, want := range map[string]string{
		"https://h/v1": "", " http://h:1/v1/chat/completions ": "", "": "is not set", " ": "is not a URL", "ftp://h": "is not a URL", "h/v1": "is not a URL",
		"http://h/v1?api-version=1": "into the setting query", "http://h/v1?": "into the setting query", "http://u:pw@h": "more than scheme", "http://u:pw@h/?a=1": "more than scheme",
		"http://h/#pw": "more than scheme",
	} {
		err := CheckBase(base)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw")) {
			t.Errorf("%q: %v, want %q", base, err, want)
		}
	}
}
