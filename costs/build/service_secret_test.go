package build

import (
	"fmt"
	"strings"
	"testing"
)

func TestKeysAreHidden(t *testing.T) {
	k := secret("abcdefghijklmnop")
	for text, want := range map[string]string{
		"x abcdefghijklmnop y": "x [key] y", "abcdefgh": "[key]", "abcdefg": "abcdefg", "ghijklmnopq": "[key]q",
		"abcdefghijklmnopabcdefghijklmnop": "[key]", "": "",
	} {
		if got := k.hide(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := fmt.Sprintf("%v %s %q %+v %#v %x", k, k, k, k, k, k); strings.Contains(got, string(k)) || strings.Contains(got, "6162636465") {
		t.Errorf("printed as %s", got)
	}
	if got := secret("").hide("text"); got != "text" {
		t.Errorf("no key: %q", got)
	}
	if got := secret("EMPTY").hideIn("EMPTY set"); got != "EMPTY set" {
		t.Errorf("a key that is a word: %q", got)
	}
}
