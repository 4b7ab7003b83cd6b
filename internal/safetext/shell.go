package safetext

import (
	"regexp"
	"strings"
)

// bare is what a shell reads as one word without quotes.
var bare = regexp.MustCompile(`^[\w./:@%+,=-]+$`)

// Shell returns text as one word of a command line.
func Shell(text string) string {
	if bare.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
