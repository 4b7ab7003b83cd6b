package advice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"pipe/costs/prompt"
)

// passage is a text that was found.
type passage struct {
	page string // title of its page
	text string
}

// render executes the template of the message.
func render(t *prompt.Template, boundary, question, text string, found []passage) (string, error) {
	list := make([]map[string]any, len(found))
	for i, p := range found {
		list[i] = map[string]any{"number": i + 1, "page": p.page, "text": p.text}
	}
	return t.Write(map[string]any{"boundary": boundary, "passages": list, "text": text, "question": question})
}

// boundary returns the marker line around the passages. It contains a digest of the passages, so none of them can contain
// the line. The same passages have the same boundary, so that a service can cache the beginning of the prompt.
func boundary(question string, found []passage) string {
	seed := question
	for {
		h := sha256.New()
		for _, text := range []string{"pipe advice", seed} {
			fmt.Fprintf(h, "%d %s", len(text), text)
		}
		for _, p := range found {
			fmt.Fprintf(h, "%d %s%d %s", len(p.page), p.page, len(p.text), p.text)
		}
		mark := hex.EncodeToString(h.Sum(nil)[:12])
		if !containsMark(mark, question, found) {
			return "=== " + mark + " ==="
		}
		seed += mark
	}
}

// containsMark reports whether the question or a passage contains a mark.
func containsMark(mark, question string, found []passage) bool {
	all := strings.Contains(question, mark)
	for _, p := range found {
		all = all || strings.Contains(p.text, mark) || strings.Contains(p.page, mark)
	}
	return all
}

// truncate shortens a text to at most the given number of bytes, without splitting a character.
func truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
