package strictjson

import (
	"testing"
)

// TestSkipSpace: only the four white space characters of JSON are skipped.
func TestSkipSpace(t *testing.T) {
	for text, want := range map[string]int{"": 0, "x": 0, " \t\r\n": 4, " \n[ ": 2, "\v1": 0, "\u00a01": 0} {
		if got := SkipSpace([]byte(text), 0); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := SkipSpace([]byte("1  2"), 1); got != 3 {
		t.Errorf("from 1: %d", got)
	}
}
