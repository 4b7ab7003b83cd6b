package safetext

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestWrapKeepsWordsAndWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-zé±]{1,30}`)).Draw(t, "words")
		got := Wrap(strings.Join(words, " "), 20)
		if !slices.Equal(words, strings.Fields(got)) && len(words) > 0 {
			t.Fatalf("words %q became %q", words, got)
		}
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if utf8.RuneCountInString(line) > 20 && strings.Contains(line, " ") {
				t.Fatalf("line %q is too long", line)
			}
		}
	})
}
