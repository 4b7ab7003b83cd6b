// Package pagename reads the names of pages as spelled in FEVER's copy of
// Wikipedia. It imports no other package of this module, so that contracts,
// search and prompts can all use it.
package pagename

import "strings"

// brackets maps the escapes of FEVER's files to brackets and colons.
var brackets = strings.NewReplacer(
	"-LRB-", "(", "-RRB-", ")", "-LSB-", "[", "-RSB-", "]", "-LCB-", "{", "-RCB-", "}", "-COLON-", ":",
)

// Unescape replaces the escapes of FEVER's files by brackets and colons.
func Unescape(text string) string {
	if !strings.Contains(text, "B-") && !strings.Contains(text, "-COLON-") {
		return text
	}
	return brackets.Replace(text)
}

// Title returns the title of the page with an id: unescaped, with spaces
// instead of underscores.
func Title(id string) string { return strings.ReplaceAll(Unescape(id), "_", " ") }
