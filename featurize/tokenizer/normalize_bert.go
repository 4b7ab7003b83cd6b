package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// bertNormalizer is BERT's normalization of a text before it is split.
type bertNormalizer struct {
	clean   bool // remove control characters, replace white space with spaces
	spaced  bool // put spaces around Chinese characters
	strip   bool // decompose and remove accents
	lower   bool
	byASCII [utf8.RuneSelf]byte // replacement of ASCII characters; 0xff: removed
}

const removed = 0xff

func parseBertNormalizer(o *object) normalizer {
	n := &bertNormalizer{
		clean:  fieldOr(o, "clean_text", true),
		spaced: fieldOr(o, "handle_chinese_chars", true),
		lower:  fieldOr(o, "lowercase", true),
	}
	n.strip = fieldOr(o, "strip_accents", n.lower)
	for b := range byte(utf8.RuneSelf) {
		n.byASCII[b] = n.ascii(b)
	}
	return n
}

func (n *bertNormalizer) ascii(b byte) byte {
	switch c := asciiTable[b]; {
	case n.clean && c&isControl != 0:
		return removed
	case n.clean && c&isSpace != 0:
		return ' '
	case n.lower && 'A' <= b && b <= 'Z':
		return b + 'a' - 'A'
	}
	return b
}

func (n *bertNormalizer) normalize(s string) string {
	b := make([]byte, 0, len(s)+8)
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return n.unicode(s)
		}
		if c := n.byASCII[s[i]]; c != removed {
			b = append(b, c)
		}
	}
	return string(b)
}

// unicode does the steps one after another for texts that are not ASCII.
func (n *bertNormalizer) unicode(s string) string {
	s = n.cleaned(s)
	if n.strip {
		s = without(isNonspacing).normalize(forms["NFD"].normalize(s))
	}
	if n.lower {
		s = lowercase{}.normalize(s)
	}
	return s
}

func (n *bertNormalizer) cleaned(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, r := range s {
		switch c := classOf(r); {
		case n.clean && (r == 0 || c&isControl != 0):
		case n.clean && c&isSpace != 0:
			b.WriteByte(' ')
		case n.spaced && c&isHan != 0:
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
