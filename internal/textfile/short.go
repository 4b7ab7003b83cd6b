package textfile

import (
	"fmt"
	"strconv"
	"strings"
)

// Short is the beginning of a string that is too long for a message.
func Short(s string) string {
	const longest = 40
	if len(s) > longest {
		return s[:longest] + "..."
	}
	return s
}

// Quoted is the beginning of a string in quotes, for a message.
func Quoted(s string) string {
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "..."
	}
	return strconv.Quote(s)
}

// Listed joins names for an error or a note: the first limit names, and how many more there are.
func Listed(names []string, limit int) string {
	if len(names) == 0 {
		return "none"
	}
	if len(names) > limit {
		return strings.Join(names[:limit], ", ") + fmt.Sprintf(", and %d more", len(names)-limit)
	}
	return strings.Join(names, ", ")
}
