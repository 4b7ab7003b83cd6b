package safetext

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain, Größe, 北京, 👩‍👩‍👧, naïve", "plain, Größe, 北京, 👩‍👩‍👧, naïve"},
		{`C:\new\table`, `C:\new\table`},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\x07", `\x1b]0;title\x07`},
		{"a\nb\rc\td\x00e\x7f", `a\nb\rc\td\x00e\x7f`},
		{"\u009b31m", `\u009b31m`},
		{"user\u202egpj.exe", `user\u202egpj.exe`},
		{"\u2066x\u2069\u200e\u061c", `\u2066x\u2069\u200e\u061c`},
		{"a\u2028b\u2029", `a\u2028b\u2029`},
		{"\xff\xfe\x9b", `\xff\xfe\x9b`},
		{"\ufeffid", `\ufeffid`},
		{"\ufffe", `\ufffe`},
	} {
		if got := Line(c.text); got != c.want {
			t.Errorf("Line(%q) is %q, want %q", c.text, got, c.want)
		}
	}
	if got := Lines("a\n\tb\x1b\r"); got != "a\n\tb"+`\x1b\r` {
		t.Errorf("Lines keeps %q", got)
	}
}

// Every single character: the output is valid, has nothing that a terminal interprets, and does not change when escaped
// again.
func TestEveryCharacter(t *testing.T) {
	for r := range unicode.MaxRune + 1 {
		got := Line(string(r))
		if got == string(r) && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%U stays", r)
		}
		if !utf8.ValidString(got) || Line(got) != got {
			t.Errorf("%U becomes %q", r, got)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[0m\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Line(text)
		if strings.ContainsFunc(got, unfit) || !utf8.ValidString(got) || Line(got) != got {
			t.Errorf("Line(%q) is %q", text, got)
		}
		if Line(Lines(text)) != got {
			t.Errorf("Lines(%q) hides what Line shows", text)
		}
	})
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	n, err := Writer(&b).Write([]byte("a\x1b\n"))
	if n != 3 || err != nil || b.String() != `a\x1b`+"\n" {
		t.Errorf("wrote %d (%v): %q", n, err, b.String())
	}
}
