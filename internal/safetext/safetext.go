// Package safetext makes text from outside fit to be shown: names of experts, columns and files come from data, and data
// may carry control characters. Shown raw they move the cursor of a terminal, colour or hide what follows, turn the
// reading direction, or make a line that looks like one of the program's own.
//
// What cannot be shown is shown as Go spells it: \x1b, \n, \u202e. A text without such characters stays as it is.
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

// Lines is Line for a text of several lines: line breaks and tabs stay.
func Lines(text string) string { return escape(text, "\n\t") }

// escape spells what must not be shown, but for the characters in keep.
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

// unfit are control characters (C0, DEL and C1), separators of lines and paragraphs, marks that turn the reading
// direction, and characters that stand for nothing.
func unfit(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Noncharacter_Code_Point) || r == '\ufeff'
}

// spelled is the character as Go spells it in a string.
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

// Writer passes text on to w with Lines applied. It is the last guard of an output for readers: cells and fields of one
// line go through Line before they get here. A character must not be cut in two by two writes.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

func (w writer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(w.to, Lines(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
