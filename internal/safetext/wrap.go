package safetext

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks a sentence into lines of at most width characters; a longer word is not broken.
func Wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && column+1+n > width:
			b.WriteByte('\n')
			column = 0
		case i > 0:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
