// Package safetext makes untrusted text safe to display. Names of experts, columns and files come from data, which can
// contain control characters. Unescaped, these move the cursor of a terminal, colour or hide what follows, change the
// direction of reading, or imitate a line of the program.
//
// Unsafe characters are escaped as in Go: \x1b, \n, \u202e. A string without such characters is unchanged.
package safetext

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns text fit for one line of a terminal, a cell of a table or the text of a figure.
func Line(text string) string { return escape(text, "") }

// Lines is Line for several lines: line breaks and tabs stay.
func Lines(text string) string { return escape(text, "\n\t") }

// escape escapes unsafe characters, except those in keep.
func escape(text, keep string) string {
	if !strings.ContainsFunc(text, unfit) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unfit(r) && !strings.ContainsRune(keep, r):
			b.WriteString(spelled(r))
		default:
			b.WriteString(text[i : i+size])
		}
		i += size
	}
	return b.String()
}

// unfit matches control characters (C0, DEL and C1), line and paragraph separators, marks that change the direction of
// reading, and characters without an assigned meaning.
func unfit(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Noncharacter_Code_Point) || r == '\ufeff'
}

// spelled is the character as an escape of Go.
func spelled(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	switch {
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Writer passes text on to w with Lines applied. It is the last check of displayed output: cells and fields of one line
// are escaped by Line before. A write must not end within a character.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

func (w writer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(w.to, Lines(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
