package tokenizer

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// runeLen is the length of the first character, 0 at the end of a text.
func runeLen(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// shown quotes a text of a file for an error; it truncates a long one.
func shown(s string) string {
	const most = 80
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q, and %d more bytes", s[:most], len(s)-most)
}
