package textfile

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines are returned without blank ones and with their numbers, for any length of line and any size of reads.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	text := "\n a \r\n\n  \n" + long + "\nlast"
	for name, in := range map[string]io.Reader{"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text))} {
		l := NewLines("f", in)
		var got []string
		var at []int
		for {
			line, err := l.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got, at = append(got, string(line)), append(at, l.Number())
		}
		if !slices.Equal(got, []string{"a", long, "last"}) || !slices.Equal(at, []int{2, 5, 6}) {
			t.Errorf("%s: %d lines at %v", name, len(got), at)
		}
	}
}

// endless is one line without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestLinesErrors(t *testing.T) {
	var data *Error
	if _, err := NewLines("f", endless{}).Next(); !errors.As(err, &data) || data.Line != 1 || data.File != "f" {
		t.Errorf("a line without an end: %v", err)
	}
	broken := errors.New("broken")
	l := NewLines("f", io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)))
	if line, err := l.Next(); string(line) != "a" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if _, err := l.Next(); !errors.Is(err, broken) {
		t.Errorf("a medium that breaks inside of a line: %v", err)
	}
}
