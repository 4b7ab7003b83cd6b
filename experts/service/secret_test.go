package service

import (
	"fmt"
	"strings"
	"testing"
)

func TestKeysAreHidden(t *testing.T) {
	k := Secret("abcdefghijklmnop")
	for text, want := range map[string]string{
		"x abcdefghijklmnop y": "x [key] y", "abcdefgh": "[key]", "abcdefg": "abcdefg", "ghijklmnopq": "[key]q",
		"abcdefghijklmnopabcdefghijklmnop": "[key]", "": "",
	} {
		if got := k.Redact(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := fmt.Sprintf("%v %s %q %+v %#v %x", k, k, k, k, k, k); strings.Contains(got, string(k)) || strings.Contains(got, "6162636465") {
		t.Errorf("printed as %s", got)
	}
	if got := Secret("").Redact("text"); got != "text" {
		t.Errorf("no key: %q", got)
	}
	if got := Secret("EMPTY").RedactAnswer("EMPTY set"); got != "EMPTY set" {
		t.Errorf("a key that is a word: %q", got)
	}
}

// What hides a key is made once for it: every page that a search finds passes through it.
func TestRedactorsAreKept(t *testing.T) {
	k := Secret("abcdefghijklmnop")
	if first, again := k.redactor(8), k.redactor(8); first != again || k.redactor(8) == k.redactor(16) || k.redactor(8) == (k+"x").redactor(8) {
		t.Error("redactors do not belong to a key and a length")
	}
}
