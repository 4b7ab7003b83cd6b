package tokenizer

import (
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// form is a normalization form of Unicode's annex 15. The code uses the tables
// of x/text but not its functions: those insert U+034F into long runs of
// combining marks and support newer characters than the reference.
type form struct {
	table   norm.Form // NFD or NFKD: decompositions and combining classes
	quick   norm.Form // tests whether a text is already in this form
	compose bool
}

var forms = map[string]form{
	"NFC":  {table: norm.NFD, quick: norm.NFC, compose: true},
	"NFD":  {table: norm.NFD, quick: norm.NFD},
	"NFKC": {table: norm.NFKD, quick: norm.NFKC, compose: true},
	"NFKD": {table: norm.NFKD, quick: norm.NFKD},
}

// mark is a character of a decomposed text with its combining class.
type mark struct {
	r     rune
	class uint8
}

func (f form) normalize(s string) string {
	if f.quick.IsNormalString(s) {
		return s
	}
	text := make([]mark, 0, len(s))
	for i, r := range s {
		text = f.decompose(text, r, s[i:])
	}
	order(text)
	if f.compose {
		text = composed(text)
	}
	b := make([]byte, 0, len(s))
	for _, m := range text {
		b = utf8.AppendRune(b, m.r)
	}
	return string(b)
}

// The arithmetic of Hangul syllables, Unicode 3.12.
const (
	hangulBase, hangulEnd          = 0xac00, 0xac00 + 11172
	leadBase, vowelBase, trailBase = 0x1100, 0x1161, 0x11a7
	leads, vowels, trails          = 19, 21, 28
)

// decompose appends the decomposition of the first character of s, which is r.
func (f form) decompose(text []mark, r rune, s string) []mark {
	if r < utf8.RuneSelf {
		return append(text, mark{r: r})
	}
	if hangulBase <= r && r < hangulEnd {
		n := r - hangulBase
		text = append(text, mark{r: leadBase + n/(vowels*trails)}, mark{r: vowelBase + n/trails%vowels})
		if n%trails != 0 {
			text = append(text, mark{r: trailBase + n%trails})
		}
		return text
	}
	if classOf(r)&isInert != 0 {
		return append(text, mark{r: r})
	}
	p := f.table.PropertiesString(s[:utf8.RuneLen(r)])
	d := p.Decomposition()
	if d == nil {
		return append(text, mark{r: r, class: p.CCC()})
	}
	for len(d) > 0 {
		part, size := utf8.DecodeRune(d)
		text = append(text, mark{r: part, class: f.table.Properties(d[:size]).CCC()})
		d = d[size:]
	}
	return text
}

// order sorts runs of combining marks into canonical order.
func order(text []mark) {
	for at := 0; at < len(text); at++ {
		start := at
		for at < len(text) && text[at].class != 0 {
			at++
		}
		if at-start > 1 {
			slices.SortStableFunc(text[start:at], func(a, b mark) int { return int(a.class) - int(b.class) })
		}
	}
}

// composed joins characters with their marks, in place.
func composed(text []mark) []mark {
	out := text[:0]
	starter := -1 // index of the last character of class 0
	for _, m := range text {
		if starter >= 0 {
			last := out[len(out)-1]
			adjacent := len(out)-1 == starter
			if adjacent || last.class != 0 && last.class < m.class {
				if r, ok := composite(out[starter].r, m.r); ok {
					out[starter].r = r
					continue
				}
			}
		}
		if m.class == 0 {
			starter = len(out)
		}
		out = append(out, m)
	}
	return out
}

// composite returns the composition of two characters.
func composite(a, b rune) (rune, bool) {
	if leadBase <= a && a < leadBase+leads && vowelBase <= b && b < vowelBase+vowels {
		return hangulBase + ((a-leadBase)*vowels+b-vowelBase)*trails, true
	}
	if hangulBase <= a && a < hangulEnd && (a-hangulBase)%trails == 0 && trailBase < b && b < trailBase+trails {
		return a + b - trailBase, true
	}
	r, ok := composites()[[2]rune{a, b}]
	return r, ok
}

// composites are the primary composites by their components: characters with a
// canonical decomposition that are themselves in form C.
var composites = sync.OnceValue(func() map[[2]rune]rune {
	m := map[[2]rune]rune{}
	for r := rune(utf8.RuneSelf); r < classified; r++ {
		s := string(r)
		d := norm.NFD.PropertiesString(s).Decomposition()
		if d == nil || classOf(r)&isInert != 0 || !norm.NFC.IsNormalString(s) {
			continue
		}
		last, size := utf8.DecodeLastRune(d)
		first, _ := utf8.DecodeRune(norm.NFC.Bytes(d[:len(d)-size]))
		m[[2]rune{first, last}] = r
	}
	return m
})
