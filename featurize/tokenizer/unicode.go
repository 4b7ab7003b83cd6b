package tokenizer

import (
	"fmt"
	"strconv"
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is a set of properties of a character, as in the reference library.
type class uint16

const (
	isLetter     class = 1 << iota // \p{L}
	isNumber                       // \p{N}
	isSpace                        // White_Space, \s
	isWord                         // \w
	isPunct                        // punctuation of BERT: ASCII symbols and category P
	isNumeric                      // a digit for the pre-tokenizer Digits
	isControl                      // removed by clean_text
	isNonspacing                   // category Mn, for strip_accents of BERT
	isMark                         // category M, for StripAccents
	isHan                          // a Chinese character for BERT
	isCased                        // changes in lower case
	isInert                        // not affected by normalization
)

// classified is the number of code points whose class is in a table.
const classified = 0x32000

var classTable = sync.OnceValue(func() *[classified]class {
	var t [classified]class
	for r := range rune(classified) {
		t[r] = classify(r)
	}
	return &t
})

// asciiTable has the classes of ASCII.
var asciiTable = func() (t [utf8.RuneSelf]class) {
	for r := range rune(utf8.RuneSelf) {
		t[r] = classify(r)
	}
	return t
}()

// classOf returns the class of a character.
func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiTable[r]
	}
	if r < classified {
		return classTable()[r]
	}
	return classify(r)
}

// classify computes the class from the tables.
func classify(r rune) (c class) {
	for _, p := range properties {
		if p.holds(r) {
			c |= p.class
		}
	}
	return c
}

var properties = []struct {
	class class
	holds func(r rune) bool
}{
	{isLetter, func(r rune) bool { return unicode.In(r, unicode.L, letters16) }},
	{isNumber, func(r rune) bool { return unicode.In(r, unicode.N, numbers16) }},
	{isSpace, unicode.IsSpace},
	{isWord, word},
	{isPunct, punctuation},
	{isNumeric, func(r rune) bool { return unicode.In(r, unicode.N, numbers16, numbers17) }},
	{isControl, control},
	{isNonspacing, func(r rune) bool {
		return unicode.Is(unicode.Mn, r) && !unicode.Is(after8, r) || unicode.Is(nonspacing8, r)
	}},
	{isMark, func(r rune) bool {
		return unicode.Is(unicode.M, r) && !unicode.Is(after9, r) || unicode.Is(marks9, r)
	}},
	{isHan, func(r rune) bool { return unicode.Is(han, r) }},
	{isCased, func(r rune) bool { return r == 0x130 || lower(r) != r }},
	{isInert, func(r rune) bool { return unicode.Is(after9, r) }},
}

// han are the blocks that BERT treats as Chinese.
var han = table(
	0x3400, 0x4dbf, 0x4e00, 0x9fff, 0xf900, 0xfaff, 0x20000, 0x2a6df,
	0x2a700, 0x2b81f, 0x2b920, 0x2ceaf, 0x2f800, 0x2fa1f,
)

func word(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd, unicode.Nl, unicode.Pc, unicode.Other_Alphabetic, letters16, numbers16, marks16) ||
		r == 0x200c || r == 0x200d
}

func punctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return unicode.IsPunct(r) || unicode.IsSymbol(r)
	}
	return unicode.IsPunct(r) && !unicode.Is(after8, r) || unicode.Is(punctuation8, r)
}

// control reports whether clean_text removes a character; tab and line ends
// become spaces instead.
func control(r rune) bool {
	switch r {
	case '\t', '\n', '\r':
		return false
	case utf8.RuneError:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Co) || unicode.Is(unicode.Cf, r) && !unicode.Is(after8, r)
}

// lower is the lower case of a character, except for U+0130, whose lower case
// has two characters.
func lower(r rune) rune {
	if r >= lower17[0].first {
		for _, m := range lower17 {
			if m.first <= r && r <= m.last {
				return r + m.distance
			}
		}
	}
	return unicode.ToLower(r)
}

// runeLen is the length of the first character, 0 at the end of a text.
func runeLen(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}

// shown quotes a text of a file for an error; it truncates a long one.
func shown(s string) string {
	const most = 80
	if len(s) <= most {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q, and %d more bytes", s[:most], len(s)-most)
}
