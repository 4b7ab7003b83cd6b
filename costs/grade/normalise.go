package grade

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// What a normaliser can ignore.
const (
	ignoreCase        = "case"
	ignorePunctuation = "punctuation"
	ignoreArticles    = "articles"
	ignoreSpace       = "space"
)

var ignorable = []string{ignoreCase, ignorePunctuation, ignoreArticles, ignoreSpace}

// normaliser brings texts into one spelling. Characters are composed (NFC) always. The order is that of SQuAD's
// evaluation: lower case, no punctuation, no articles, white space.
type normaliser map[string]bool

// newNormaliser returns the normaliser that ignores what a setting lists.
func newNormaliser(ignore []string) (normaliser, error) {
	n := make(normaliser)
	for _, what := range ignore {
		if !slices.Contains(ignorable, what) {
			return nil, fmt.Errorf("ignore: unknown word %q; known are %s", what, strings.Join(ignorable, ", "))
		}
		if n[what] {
			return nil, fmt.Errorf("ignore: %q is a duplicate", what)
		}
		n[what] = true
	}
	return n, nil
}

// text returns the one spelling of a text.
func (n normaliser) text(s string) string {
	s = norm.NFC.String(strings.ToValidUTF8(s, "\ufffd"))
	if n[ignoreCase] {
		s = lower(s)
	}
	if n[ignorePunctuation] {
		s = strings.Map(func(r rune) rune {
			if isPunctuation(r) {
				return -1
			}
			return r
		}, s)
	}
	if n[ignoreArticles] {
		s = withoutArticles(s)
	}
	if n[ignoreSpace] {
		s = strings.Join(strings.FieldsFunc(s, isSpace), " ")
	}
	return s
}

// check returns an error for a reference of which nothing is left, so that empty answers would be right.
func (n normaliser) check(reference string) error {
	if reference != "" && strings.TrimFunc(n.text(reference), isSpace) == "" {
		return fmt.Errorf("has nothing left to compare (ignore: %s)", strings.Join(n.words(), ", "))
	}
	return nil
}

func (n normaliser) words() []string {
	return slices.DeleteFunc(slices.Clone(ignorable), func(w string) bool { return !n[w] })
}

// lower returns a text in lower case by the full mapping of Unicode, as Python's lower does: it has a final sigma.
func lower(s string) string {
	for _, r := range s {
		if r >= 0x80 {
			return cases.Lower(language.Und).String(s)
		}
	}
	return strings.ToLower(s)
}

// isPunctuation reports punctuation of any script, and the other signs of ASCII, such as $ and +.
func isPunctuation(r rune) bool {
	return unicode.IsPunct(r) || r < 0x80 && r > ' ' && r != 0x7f && !isWord(r)
}

// isSpace reports white space, and the separators of ASCII.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// isWord reports characters of words: letters, numbers and the underscore.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }

// withoutArticles replaces the English articles by spaces, where they are whole words.
func withoutArticles(s string) string {
	var b strings.Builder
	for s != "" {
		end := strings.IndexFunc(s, func(r rune) bool { return !isWord(r) })
		if end < 0 {
			end = len(s)
		}
		switch word := s[:end]; strings.ToLower(word) {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(word)
		}
		s = s[end:]
		next := strings.IndexFunc(s, isWord)
		if next < 0 {
			next = len(s)
		}
		b.WriteString(s[:next])
		s = s[next:]
	}
	return b.String()
}
