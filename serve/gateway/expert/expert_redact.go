package expert

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// redactor replaces keys in the JSON of answers. It finds keys in plain text and with JSON escapes, also in JSON that is
// nested in a JSON string.
type redactor struct {
	keys          [][]byte
	keyBytes      [256]bool // the bytes of all keys
	firstBytes    [256]bool // their first bytes
	hasSurrogates bool      // a key has a character that JSON escapes as a surrogate pair
}

// maxEscapeLayers is how many layers of escapes are decoded. The arguments of a tool call, for example, are JSON in a JSON
// string: two layers.
const maxEscapeLayers = 3

var redacted = []byte("[key]")

// add adds a key, which is not empty.
func (h *redactor) add(key string) {
	h.keys = append(h.keys, []byte(key))
	h.firstBytes[key[0]] = true
	for i := range len(key) {
		h.keyBytes[key[i]] = true
		h.hasSurrogates = h.hasSurrogates || key[i] >= 0xf0
	}
}

// redact replaces the keys in a text.
func (h *redactor) redact(text []byte) []byte {
	for _, k := range h.keys {
		if bytes.Contains(text, k) {
			text = bytes.ReplaceAll(text, k, redacted)
		}
	}
	if !h.mayContain(text) {
		return text
	}
	for n := 1; n <= maxEscapeLayers; n++ {
		text = h.redactLayer(text, n)
	}
	return text
}

// mayContain reports whether a text has an escape that may belong to a key. Most answers have none, because they escape only
// line ends, quotes and letters of other alphabets.
func (h *redactor) mayContain(text []byte) bool {
	first := bytes.IndexByte(text, '\\')
	if first < 0 {
		return false
	}
	for at := first; at+1 < len(text); at++ {
		if text[at] == '\\' && h.isKeyEscape(text[at+1:]) {
			return true
		}
	}
	return false
}

// isKeyEscape reports whether the escape whose backslash precedes text stands for a byte of a key.
func (h *redactor) isKeyEscape(text []byte) bool {
	switch c := text[0]; c {
	case '"', '/', '\\':
		return h.keyBytes[c]
	case 't':
		return h.keyBytes['\t'] // a secret header may contain it
	case 'u':
		r, ok := unicodeOf(text[1:])
		var b [utf8.UTFMax]byte
		utf8.EncodeRune(b[:], r)
		return ok && (h.keyBytes[b[0]] || utf16.IsSurrogate(r) && h.hasSurrogates)
	}
	return false
}

// redactLayer replaces the keys that appear after decoding the given number of layers of escapes.
func (h *redactor) redactLayer(text []byte, layer int) []byte {
	var out []byte
	done := 0
	for at := 0; at < len(text); {
		if c := text[at]; c != '\\' && !h.firstBytes[c] {
			at++
			continue
		}
		if end := h.match(text, at, layer); end > 0 {
			out = append(append(out, text[done:at]...), redacted...)
			at, done = end, end
			continue
		}
		at = readUnit(text, at, layer).end
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// match returns the end of the longest key that starts at a position, 0 if none does.
func (h *redactor) match(text []byte, at, layer int) (end int) {
	for _, key := range h.keys {
		next := at
		for len(key) > 0 && next < len(text) {
			u := readUnit(text, next, layer)
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

// unit is one decoded escape or one plain byte, and the position after it.
type unit struct {
	bytes [utf8.UTFMax]byte
	n     int
	end   int
}

// is reports whether a unit is an ASCII character.
func (u *unit) is(c byte) bool { return u.n == 1 && u.bytes[0] == c }

// readUnit reads the unit at a position and decodes the given number of layers of escapes.
func readUnit(text []byte, at, layer int) unit {
	if layer == 0 {
		return unit{[utf8.UTFMax]byte{text[at]}, 1, at + 1}
	}
	u := readUnit(text, at, layer-1)
	if !u.is('\\') || u.end == len(text) {
		return u
	}
	next := readUnit(text, u.end, layer-1)
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

// readUnicode reads the four hexadecimal digits of an escape.
func readUnicode(text []byte, at, layer int) (r rune, end int, ok bool) {
	var digits [4]byte
	for i := range digits {
		if at >= len(text) {
			return 0, 0, false
		}
		u := readUnit(text, at, layer)
		digits[i], at = u.bytes[0], u.end
	}
	r, ok = unicodeOf(digits[:])
	return r, at, ok
}

// readPair reads the second half of a surrogate pair. A first half alone is the replacement character.
func readPair(text []byte, at, layer int, first rune) (r rune, end int) {
	end = at
	for _, c := range []byte(`\u`) {
		if at >= len(text) {
			return utf8.RuneError, end
		}
		u := readUnit(text, at, layer)
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
