package pagename

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestTitle draws titles, writes them as FEVER does, and reads them back.
func TestTitle(t *testing.T) {
	escape := strings.NewReplacer("(", "-LRB-", ")", "-RRB-", "[", "-LSB-", "]", "-RSB-", "{", "-LCB-", "}", "-RCB-", ":", "-COLON-", " ", "_")
	rapid.Check(t, func(r *rapid.T) {
		title := rapid.StringMatching(`[a-z()\[\]{}: é]{0,20}`).Draw(r, "title")
		if got := Title(escape.Replace(title)); got != title {
			r.Errorf("%q comes back as %q", title, got)
		}
	})
	if got := Unescape("B-side_LRB"); got != "B-side_LRB" {
		t.Errorf("a name without escapes became %q", got)
	}
}
