package grade

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Spelled returns the spelling of a label in prompts: one word.
func Spelled(label string) string { return strings.ReplaceAll(label, " ", "_") }

// CheckLabels returns an error if there are fewer than two labels, or if an answer
// cannot distinguish two of them by their words.
func CheckLabels(labels []string) error {
	if len(labels) < 2 {
		return fmt.Errorf("there are %d labels, and at least two are needed; list them under labels", len(labels))
	}
	seen := make(map[string]string)
	for _, l := range labels {
		key := strings.Join(words(l), " ")
		if other, ok := seen[key]; ok || key == "" {
			return fmt.Errorf("label %q cannot be distinguished from %q in an answer: each label needs different words", l, other)
		}
		seen[key] = l
	}
	return nil
}

// ParseLabel returns the label that an answer gives. An answer is strict if it is
// a label and nothing else, in the spelling of the labels or of the prompts.
// Otherwise a label counts, ok, if it is the only one whose words occur in the
// answer in order. Their case, and other characters than letters and digits
// between them, are ignored, and so are <think> blocks.
func ParseLabel(answer string, labels []string) (label string, strict, ok bool) {
	answer = strings.TrimSpace(answer)
	for _, l := range labels {
		if answer == l || answer == Spelled(l) {
			return l, true, true
		}
	}
	found := named(words(WithoutThoughts(answer)), labels)
	if len(found) != 1 {
		return "", false, false
	}
	return found[0], false, true
}

// named returns the labels that occur in a text, except those that occur only
// inside a longer label.
func named(text []string, labels []string) []string {
	var found []string
	for at := 0; at < len(text); at++ {
		longest, length := "", 0
		for _, l := range labels {
			w := words(l)
			if len(w) > length && at+len(w) <= len(text) && slices.Equal(text[at:at+len(w)], w) {
				longest, length = l, len(w)
			}
		}
		if length == 0 {
			continue
		}
		at += length - 1
		if !slices.Contains(found, longest) {
			found = append(found, longest)
		}
	}
	return found
}

// words are the runs of letters and digits of a text, in lower case.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Number, unicode.Mark)
	})
}
