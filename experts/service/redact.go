package service

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

// redactor replaces a key in text from a service, in any of these forms: in
// another letter case, backwards, in hexadecimal, in base64 alone or with other
// text (such as user:key). Each form may be escaped as in JSON, URLs and HTML,
// or contain white space.
type redactor struct {
	pieces map[int]map[string]struct{} // parts of the spellings, by their length
}

// newRedactor finds every part of the key with at least the given number of bytes. Spellings shorter than that are
// found as a whole.
func newRedactor(key string, piece int) *redactor {
	r := &redactor{pieces: make(map[int]map[string]struct{})}
	r.add(key, piece)
	const least = 6 // least length of a spelling other than the key itself: shorter ones occur in any text
	for _, spelling := range spellings(key) {
		if len(spelling) >= least {
			r.add(spelling, piece)
		}
	}
	return r
}

// spellings are the forms of a key besides itself.
func spellings(key string) []string {
	backwards := []byte(key)
	slices.Reverse(backwards)
	all := []string{string(backwards), hex.EncodeToString([]byte(key))}
	for before := range 3 { // bytes before the key, within three of which base64 makes four letters
		padded := append(make([]byte, before), key...)
		for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := code.EncodeToString(padded)
			from, to := (8*before+5)/6, 8*len(padded)/6 // letters that depend only on the key
			all = append(all, text[from:max(from, to)])
		}
	}
	return all
}

func (r *redactor) add(spelling string, piece int) {
	plain := readPlain(spelling).text
	n := min(piece, len(plain))
	if n == 0 {
		return
	}
	if r.pieces[n] == nil {
		r.pieces[n] = make(map[string]struct{})
	}
	for at := 0; at+n <= len(plain); at++ {
		r.pieces[n][string(plain[at:at+n])] = struct{}{}
	}
}

// replace puts [key] where a text has a part of the key.
func (r *redactor) replace(text string) string {
	p := readPlain(text)
	hidden := r.mark(p.text)
	if !slices.Contains(hidden, true) {
		return text
	}
	var out strings.Builder
	done := 0
	for at := 0; at < len(hidden); at++ {
		if !hidden[at] {
			continue
		}
		from := p.from[at]
		for at+1 < len(hidden) && hidden[at+1] {
			at++
		}
		out.WriteString(text[done:max(done, from)])
		out.WriteString("[key]")
		done = p.to[at]
	}
	out.WriteString(text[done:])
	return out.String()
}

// mark returns which bytes belong to a part of the key.
func (r *redactor) mark(plain []byte) []bool {
	hidden := make([]bool, len(plain))
	for n, pieces := range r.pieces {
		end := 0 // of what is marked
		for at := 0; at+n <= len(plain); at++ {
			if _, ok := pieces[string(plain[at:at+n])]; !ok {
				continue
			}
			for i := max(at, end); i < at+n; i++ {
				hidden[i] = true
			}
			end = at + n
		}
	}
	return hidden
}

// unescaped is a text in lower case without escapes and white space, with the
// origin of each byte.
type unescaped struct {
	text     []byte
	from, to []int // in the original
}

func newUnescaped(most int) unescaped {
	return unescaped{text: make([]byte, 0, most), from: make([]int, 0, most), to: make([]int, 0, most)}
}

// add appends a byte in lower case, unless it is white space or a control character.
func (p *unescaped) add(b byte, from, to int) {
	if b <= ' ' || b == 0x7f {
		return
	}
	if b >= 'A' && b <= 'Z' {
		b += 'a' - 'A'
	}
	p.text, p.from, p.to = append(p.text, b), append(p.from, from), append(p.to, to)
}

// readPlain removes escapes, nested ones too.
func readPlain(text string) unescaped {
	p := newUnescaped(len(text))
	for at := range len(text) {
		p.add(text[at], at, at+1)
	}
	const depth = 6
	for range depth {
		next, changed := p.unescape()
		p = next
		if !changed {
			break
		}
	}
	return p
}

// unescape removes one layer of escapes.
func (p unescaped) unescape() (out unescaped, changed bool) {
	out = newUnescaped(len(p.text))
	for at := 0; at < len(p.text); {
		decoded, n := escaped(p.text[at:])
		if n == 0 {
			decoded, n = p.text[at:at+1], 1
		} else {
			changed = true
		}
		for _, b := range decoded {
			out.add(b, p.from[at], p.to[at+n-1])
		}
		at += n
	}
	return out, changed
}

// escaped reads an escape at the beginning of a text, and returns its value and
// its length, 0 if there is none.
func escaped(text []byte) (decoded []byte, n int) {
	switch text[0] {
	case '\\':
		for n < len(text) && text[n] == '\\' {
			n++
		}
		rest := text[n:]
		switch {
		case len(rest) >= 5 && rest[0]|0x20 == 'u' && isHex(rest[1:5]):
			return utf8.AppendRune(nil, hexRune(rest[1:5])), n + 5
		case len(rest) >= 3 && rest[0]|0x20 == 'x' && isHex(rest[1:3]):
			return []byte{byte(hexRune(rest[1:3]))}, n + 3
		case len(rest) >= 1 && strings.IndexByte("nrt", rest[0]|0x20) >= 0:
			return nil, n + 1
		}
		return nil, n
	case '%':
		if len(text) >= 3 && isHex(text[1:3]) {
			return []byte{byte(hexRune(text[1:3]))}, 3
		}
	case '&':
		return entity(text)
	}
	return nil, 0
}

// entities are the HTML entities of characters that a key may contain.
var entities = map[string]byte{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// entity reads an HTML character reference, such as &#65; or &amp;.
func entity(text []byte) (decoded []byte, n int) {
	const longest = 10
	end := slices.Index(text[:min(len(text), longest)], ';')
	if end < 0 {
		return nil, 0
	}
	name := string(text[1:end])
	if b, ok := entities[strings.ToLower(name)]; ok {
		return []byte{b}, end + 1
	}
	number, ok := strings.CutPrefix(name, "#")
	if !ok || number == "" {
		return nil, 0
	}
	if digits := strings.TrimLeft(number, "xX"); len(digits) == len(number)-1 && isHex([]byte(digits)) {
		return utf8.AppendRune(nil, hexRune([]byte(digits))), end + 1
	}
	r := rune(0)
	for _, d := range number {
		if d < '0' || d > '9' {
			return nil, 0
		}
		r = 10*r + d - '0'
	}
	return utf8.AppendRune(nil, r), end + 1
}

func isHex(text []byte) bool {
	return len(text) > 0 && !slices.ContainsFunc(text, func(b byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", b) < 0 })
}

func hexRune(text []byte) rune {
	r := rune(0)
	for _, b := range text {
		r = 16*r + rune(strings.IndexByte("0123456789abcdef", b|0x20))
	}
	return r
}
