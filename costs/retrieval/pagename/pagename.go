// Package pagename reads the names of pages as FEVER's copy of Wikipedia spells
// them. It imports nothing of this module, so that contracts, search and prompts
// all name a page in the same way.
package pagename

import "strings"

// brackets are the names under which FEVER's files write brackets and colons.
var brackets = strings.NewReplacer(
	"-LRB-", "(", "-RRB-", ")", "-LSB-", "[", "-RSB-", "]", "-LCB-", "{", "-RCB-", "}", "-COLON-", ":",
)

// Unescape puts brackets and colons for their names in FEVER's files.
func Unescape(text string) string {
	if !strings.Contains(text, "B-") && !strings.Contains(text, "-COLON-") {
		return text
	}
	return brackets.Replace(text)
}

// Title returns the title of the page with an id: without escapes, with spaces
// for underscores.
func Title(id string) string { return strings.ReplaceAll(Unescape(id), "_", " ") }
