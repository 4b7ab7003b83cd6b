package expert

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// hider replaces keys in the JSON of answers: as they are, and spelt in the escapes of JSON, also of JSON within JSON.
type hider struct {
	keys [][]byte
	has  [256]bool // bytes of the keys
	find [256]bool // their first bytes
	wide bool      // a key has a character that JSON spells as a surrogate pair
}

// layers is how many layers of escapes are taken off: the arguments of a tool call are JSON in a string of JSON.
const layers = 3

var hidden = []byte("[key]")

// add adds a key, which is not empty.
func (h *hider) add(key string) {
	h.keys = append(h.keys, []byte(key))
	h.find[key[0]] = true
	for i := range len(key) {
		h.has[key[i]] = true
		h.wide = h.wide || key[i] >= 0xf0
	}
}

// clean replaces the keys. A text without any is returned as it is.
func (h *hider) clean(text []byte) []byte {
	for _, k := range h.keys {
		if bytes.Contains(text, k) {
			text = bytes.ReplaceAll(text, k, hidden)
		}
	}
	if !h.spells(text) {
		return text
	}
	for n := 1; n <= layers; n++ {
		text = h.cleanLayer(text, n)
	}
	return text
}

// spells reports whether a text has an escape that may be a part of a key. Ordinary answers have none: their escapes are of line
// ends, quotes and other alphabets.
func (h *hider) spells(text []byte) bool {
	first := bytes.IndexByte(text, '\\')
	if first < 0 {
		return false
	}
	for at := first; at+1 < len(text); at++ {
		if text[at] == '\\' && h.escapes(text[at+1:]) {
			return true
		}
	}
	return false
}

// escapes reports whether what follows a backslash stands for a byte of a key.
func (h *hider) escapes(text []byte) bool {
	switch c := text[0]; c {
	case '"', '/', '\\':
		return h.has[c]
	case 't':
		return h.has['\t'] // which values of headers may have
	case 'u':
		r, ok := unicodeOf(text[1:])
		var b [utf8.UTFMax]byte
		utf8.EncodeRune(b[:], r)
		return ok && (h.has[b[0]] || utf16.IsSurrogate(r) && h.wide)
	}
	return false
}

// cleanLayer replaces the keys that appear when a number of layers of escapes are taken off.
func (h *hider) cleanLayer(text []byte, layer int) []byte {
	var out []byte
	done := 0
	for at := 0; at < len(text); {
		if c := text[at]; c != '\\' && !h.find[c] {
			at++
			continue
		}
		if end := h.match(text, at, layer); end > 0 {
			out = append(append(out, text[done:at]...), hidden...)
			at, done = end, end
			continue
		}
		at = read(text, at, layer).end
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// match returns the end of the longest key that begins at a position, 0 if none does.
func (h *hider) match(text []byte, at, layer int) (end int) {
	for _, key := range h.keys {
		next := at
		for len(key) > 0 && next < len(text) {
			u := read(text, next, layer)
			if !bytes.HasPrefix(key, u.bytes[:u.n]) {
				break
			}
			key, next = key[u.n:], u.end
		}
		if len(key) == 0 {
			end = max(end, next)
		}
	}
	return end
}

// unit is a character, or a byte of one that is not escaped, and where the next one begins.
type unit struct {
	bytes [utf8.UTFMax]byte
	n     int
	end   int
}

// is reports whether a unit is a character of ASCII.
func (u *unit) is(c byte) bool { return u.n == 1 && u.bytes[0] == c }

// read reads the unit at a position with a number of layers of escapes taken off.
func read(text []byte, at, layer int) unit {
	if layer == 0 {
		return unit{[utf8.UTFMax]byte{text[at]}, 1, at + 1}
	}
	u := read(text, at, layer-1)
	if !u.is('\\') || u.end == len(text) {
		return u
	}
	next := read(text, u.end, layer-1)
	if !next.is('u') {
		if i := bytes.IndexByte([]byte("nrtbf"), next.bytes[0]); next.n == 1 && i >= 0 {
			next.bytes[0] = "\n\r\t\b\f"[i]
		}
		return next
	}
	r, end, ok := readUnicode(text, next.end, layer-1)
	if !ok {
		return u
	}
	if utf16.IsSurrogate(r) {
		r, end = readPair(text, end, layer-1, r)
	}
	u = unit{end: end}
	u.n = utf8.EncodeRune(u.bytes[:], r)
	return u
}

// readUnicode reads the four digits of an escape.
func readUnicode(text []byte, at, layer int) (r rune, end int, ok bool) {
	var digits [4]byte
	for i := range digits {
		if at >= len(text) {
			return 0, 0, false
		}
		u := read(text, at, layer)
		digits[i], at = u.bytes[0], u.end
	}
	r, ok = unicodeOf(digits[:])
	return r, at, ok
}

// readPair reads the second half of a surrogate pair; without one, the first stands for an unknown character.
func readPair(text []byte, at, layer int, first rune) (r rune, end int) {
	end = at
	for _, c := range []byte(`\u`) {
		if at >= len(text) {
			return utf8.RuneError, end
		}
		u := read(text, at, layer)
		if !u.is(c) {
			return utf8.RuneError, end
		}
		at = u.end
	}
	second, at, ok := readUnicode(text, at, layer)
	if r = utf16.DecodeRune(first, second); !ok || r == utf8.RuneError {
		return utf8.RuneError, end
	}
	return r, at
}

// unicodeOf reads four hexadecimal digits at the beginning of a text.
func unicodeOf(text []byte) (r rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for _, c := range text[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = 16*r + rune(c)
	}
	return r, true
}
