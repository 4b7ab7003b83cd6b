package tokenizer

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// normalizer rewrites a text before it is split. Input and output are valid
// UTF-8.
type normalizer interface {
	normalize(s string) string
}

// growthLimit is the largest factor by which the replacements of a file may
// lengthen a text, so that memory stays bounded.
const growthLimit = 256

// parseNormalizer reads a component of the section normalizer.
func parseNormalizer(o *object) normalizer {
	n, growth := parseNormalizerStep(o)
	checkGrowth(o, growth)
	return n
}

func checkGrowth(o *object, growth int) {
	if growth > growthLimit {
		o.fail("", "replacements can make a text more than %d times longer", growthLimit)
	}
}

// parseNormalizerStep also returns the factor by which replacements can
// lengthen a text.
func parseNormalizerStep(o *object) (n normalizer, growth int) {
	growth = 1
	switch kind := o.kind(); kind {
	case "BertNormalizer":
		n = parseBertNormalizer(o)
	case "NFC", "NFD", "NFKC", "NFKD":
		n = forms[kind]
	case "Lowercase":
		n = lowercase{}
	case "StripAccents":
		n = without(isMark)
	case "Strip":
		n = strip{left: field[bool](o, "strip_left"), right: field[bool](o, "strip_right")}
	case "Replace":
		n, growth = parseReplace(o)
	case "Prepend":
		n = prepend(field[string](o, "prepend"))
	case "Precompiled":
		n, growth = parsePrecompiled(o)
	case "Sequence":
		n, growth = parseNormalizers(o)
	default:
		o.unsupported("type", "normalizer %q", kind)
	}
	o.done()
	return n, growth
}

func parseNormalizers(o *object) (normalizer, int) {
	var all normalizers
	growth := 1
	for _, step := range o.objects("normalizers") {
		n, g := parseNormalizerStep(step)
		growth = min(growth*g, growthLimit+1)
		all = append(all, n)
	}
	return all, growth
}

// normalizers run one after another.
type normalizers []normalizer

func (all normalizers) normalize(s string) string {
	for _, n := range all {
		s = n.normalize(s)
	}
	return s
}

// lowercase converts character by character; a final sigma is not special.
type lowercase struct{}

func (lowercase) normalize(s string) string {
	at := strings.IndexFunc(s, func(r rune) bool { return classOf(r)&isCased != 0 })
	if at < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)+8), s[:at]...)
	for _, r := range s[at:] {
		switch {
		case r == 0x130:
			b = append(b, "i\u0307"...)
		case classOf(r)&isCased != 0:
			b = utf8.AppendRune(b, lower(r))
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// without removes the characters of a class.
type without class

func (w without) normalize(s string) string {
	return strings.Map(func(r rune) rune {
		if classOf(r)&class(w) != 0 {
			return -1
		}
		return r
	}, s)
}

// strip trims white space.
type strip struct{ left, right bool }

func (n strip) normalize(s string) string {
	if n.left {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
	if n.right {
		s = strings.TrimRightFunc(s, unicode.IsSpace)
	}
	return s
}

// prepend adds a string before a non-empty text.
type prepend string

func (n prepend) normalize(s string) string {
	if s == "" {
		return s
	}
	return string(n) + s
}

// replace replaces one string with another.
type replace struct{ old, new string }

func (n replace) normalize(s string) string { return strings.ReplaceAll(s, n.old, n.new) }

// replaceRuns replaces runs of characters with a string.
type replaceRuns struct {
	in    func(r rune) bool
	least int // least number of characters of a run
	new   string
}

func (n replaceRuns) normalize(s string) string {
	var b strings.Builder
	kept := 0 // s[:kept] is in b
	for at := 0; at < len(s); {
		end, count := at, 0
		for end < len(s) {
			r, size := utf8.DecodeRuneInString(s[end:])
			if !n.in(r) {
				break
			}
			end, count = end+size, count+1
		}
		if count >= n.least {
			b.WriteString(s[kept:at])
			b.WriteString(n.new)
			kept = end
		}
		at = end + runeLen(s[end:])
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// runPatterns are the patterns of Replace that match runs.
var runPatterns = map[string]replaceRuns{
	`\s+`:     {in: unicode.IsSpace, least: 1},
	`\s{2,}`:  {in: unicode.IsSpace, least: 2},
	` +`:      {in: func(r rune) bool { return r == ' ' }, least: 1},
	` {2,}`:   {in: func(r rune) bool { return r == ' ' }, least: 2},
	`[\r\n]+`: {in: func(r rune) bool { return r == '\r' || r == '\n' }, least: 1},
	`\n+`:     {in: func(r rune) bool { return r == '\n' }, least: 1},
}

// parseReplace reads Replace, for a normalizer or a decoder.
func parseReplace(o *object) (normalizer, int) {
	pattern, regex := parsePattern(o)
	content := field[string](o, "content")
	growth := max(1, len(content))
	if !regex || regexp.QuoteMeta(pattern) == pattern {
		if pattern == "" {
			o.unsupported("pattern", "an empty pattern")
		}
		return replace{old: pattern, new: content}, growth
	}
	n, known := runPatterns[pattern]
	if !known {
		o.unsupported("pattern", "the pattern %s", shown(pattern))
	}
	if strings.Contains(content, "$") {
		o.unsupported("content", "%q with a reference to a group", content)
	}
	n.new = content
	return n, growth
}
