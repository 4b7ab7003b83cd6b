package tokenizer

import (
	"regexp"
	"unicode/utf8"
)

// scanner is a hand-written regular expression. It matches at the beginning of
// a non-empty text and returns the length of the match. A negative length -n
// means that no match begins in the first n bytes.
type scanner func(s string) int

// scanned splits a text by a scanner.
type scanned struct {
	scan   scanner
	cut    behavior
	invert bool // gaps count as matches, matches as gaps
}

func (s scanned) split(dst []piece, p piece) []piece {
	c := cutter{dst: dst, from: p, how: s.cut}
	for at := 0; at < len(p.text); {
		n := s.scan(p.text[at:])
		if n <= 0 {
			at -= n // the gap continues
			continue
		}
		c.span(at, s.invert)
		c.span(at+n, !s.invert)
		at += n
	}
	c.span(len(p.text), s.invert)
	c.flush()
	return c.dst
}

// splitPatterns are the supported regular expressions of Split.
var splitPatterns = map[string]scanner{
	`\s+`:         scanRun(isSpace),
	clipPattern:   scanCLIP,
	gpt2Pattern:   scanGPT2,
	qwenPattern:   scanWords(1),
	llama3Pattern: scanWords(3),
}

// parseSplit reads Split, whose pattern is a string or one of splitPatterns.
func parseSplit(o *object) splitter {
	pattern, regex := parsePattern(o)
	cut := parseBehavior(o, "")
	invert := fieldOr(o, "invert", false)
	if !regex || regexp.QuoteMeta(pattern) == pattern {
		if pattern == "" {
			o.unsupported("pattern", "an empty pattern")
		}
		return literal{old: pattern, cut: cut, invert: invert}
	}
	scan := splitPatterns[pattern]
	if scan == nil {
		o.unsupported("pattern", "the pattern %s", shown(pattern))
	}
	return scanned{scan: scan, cut: cut, invert: invert}
}

// run returns the length of the run of characters of a class at the beginning
// of a text. If limit is not 0, the run has at most limit characters.
func run(s string, in class, limit int) int {
	n := 0
	for count := 0; n < len(s) && (limit == 0 || count < limit); count++ {
		r, size := utf8.DecodeRuneInString(s[n:])
		if classOf(r)&in == 0 {
			break
		}
		n += size
	}
	return n
}

// runOutside is run for characters outside the classes.
func runOutside(s string, out class) int {
	n := 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if classOf(r)&out != 0 {
			break
		}
		n += size
	}
	return n
}

// scanRun matches runs of a class.
func scanRun(in class) scanner {
	return func(s string) int {
		if n := run(s, in, 0); n > 0 {
			return n
		}
		return -runeLen(s)
	}
}

// scanWhitespace matches \w+|[^\w\s]+, the pattern of the pre-tokenizer
// Whitespace.
func scanWhitespace(s string) int {
	if n := run(s, isWord, 0); n > 0 {
		return n
	}
	if n := runOutside(s, isWord|isSpace); n > 0 {
		return n
	}
	return -run(s, isSpace, 0)
}

const (
	clipPattern = `'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+`
	gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
)

// The patterns of Qwen 2 and 3 and of Llama 3. They differ in the number of
// digits of a piece.
const (
	wordsHead     = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|`
	wordsTail     = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwenPattern   = wordsHead + `\p{N}` + wordsTail
	llama3Pattern = wordsHead + `\p{N}{1,3}` + wordsTail
)

// contraction returns the length of 's, 't, 're, 've, 'm, 'll or 'd at the
// beginning of a text, 0 if there is none. With fold, case is ignored, and the
// long s matches s.
func contraction(s string, fold bool) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	if fold && len(s) >= 3 && s[1:3] == "\u017f" {
		return 3
	}
	small := func(i int) byte {
		if i >= len(s) {
			return 0
		}
		if fold && 'A' <= s[i] && s[i] <= 'Z' {
			return s[i] + 'a' - 'A'
		}
		return s[i]
	}
	switch small(1) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if small(2) == 'e' {
			return 3
		}
	case 'l':
		if small(2) == 'l' {
			return 3
		}
	}
	return 0
}

// scanCLIP matches clipPattern.
func scanCLIP(s string) int {
	if n := contraction(s, false); n > 0 {
		return n
	}
	if n := run(s, isLetter, 0); n > 0 {
		return n
	}
	if n := run(s, isNumber, 1); n > 0 {
		return n
	}
	if n := runOutside(s, isSpace|isLetter|isNumber); n > 0 {
		return n
	}
	return -run(s, isSpace, 0)
}

// scanGPT2 matches gpt2Pattern, which leaves no gaps.
func scanGPT2(s string) int {
	if n := contraction(s, false); n > 0 {
		return n
	}
	space := 0
	if s[0] == ' ' {
		space = 1
	}
	if n := run(s[space:], isLetter, 0); n > 0 {
		return space + n
	}
	if n := run(s[space:], isNumber, 0); n > 0 {
		return space + n
	}
	if n := runOutside(s[space:], isSpace|isLetter|isNumber); n > 0 {
		return space + n
	}
	return spaces(s)
}

// spaces matches \s+(?!\S)|\s+: white space. It leaves out the last white space
// character if other text follows, since the next match may include it.
func spaces(s string) int {
	n := run(s, isSpace, 0)
	if n == len(s) {
		return n
	}
	_, last := utf8.DecodeLastRuneInString(s[:n])
	if n > last {
		return n - last
	}
	return n
}

// scanWords matches qwenPattern, or llama3Pattern with three digits. Both leave
// no gaps.
func scanWords(digits int) scanner {
	return func(s string) int {
		if n := contraction(s, true); n > 0 {
			return n
		}
		r, size := utf8.DecodeRuneInString(s)
		switch c := classOf(r); {
		case c&isLetter != 0:
			return run(s, isLetter, 0)
		case c&isNumber != 0:
			return run(s, isNumber, digits)
		case r != '\r' && r != '\n':
			if n := run(s[size:], isLetter, 0); n > 0 {
				return size + n
			}
		}
		return scanRest(s)
	}
}

// scanRest matches wordsTail.
func scanRest(s string) int {
	space := 0
	if s[0] == ' ' {
		space = 1
	}
	if n := space + runOutside(s[space:], isSpace|isLetter|isNumber); n > space {
		for n < len(s) && (s[n] == '\r' || s[n] == '\n') {
			n++
		}
		return n
	}
	for n := run(s, isSpace, 0); n > 0; n-- {
		if s[n-1] == '\r' || s[n-1] == '\n' {
			return n
		}
	}
	return spaces(s)
}
