package textfile

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rowsAndLines are the rows of a table with their lines.
func rowsAndLines(t *rapid.T, c *CSV) (rows []string, lines []int) {
	for {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return rows, lines
		}
		if err != nil {
			t.Fatal(err)
		}
		rows, lines = append(rows, strings.Join(record, "|")), append(lines, c.Line(0))
	}
}

// TestPlacesOfCSV: reading from any place gives the rows from there on, at their lines; quoted newlines and blank lines
// included.
func TestPlacesOfCSV(t *testing.T) {
	cell := rapid.SampledFrom([]string{"a", "", `"x"`, "\"two\nlines\"", "\"say \"\"so\"\"\n\n\"", "\"a,b\"", "long " + strings.Repeat("y", 50)})
	rapid.Check(t, func(t *rapid.T) {
		newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
		text := "id,x" + newline
		for range rapid.IntRange(0, 30).Draw(t, "rows") {
			text += "r" + cell.Draw(t, "cell")[:0] + "1," + cell.Draw(t, "cell") + newline
			text += strings.Repeat(newline, rapid.IntRange(0, 2).Draw(t, "blank"))
		}
		if rapid.Bool().Draw(t, "cut") {
			text = strings.TrimRight(text, "\r\n")
		}
		every := rapid.Int64Range(1, 5).Draw(t, "every")
		p, err := FindPlaces(strings.NewReader(text), every, true, true)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewCSV("t", strings.NewReader(text), ',')
		if err != nil {
			t.Fatal(err)
		}
		all, lines := rowsAndLines(t, c)
		if p.End.Row != int64(len(all)) || p.End.Offset != int64(len(text)) {
			t.Fatalf("%+v, want %d rows of %d bytes in %q", p.End, len(all), len(text), text)
		}
		for from := range int64(len(all)) {
			at := p.Before(from)
			if at.Row > from || at.Row <= from-every {
				t.Fatalf("place %+v is before row %d", at, from)
			}
			rest, restLines := rowsAndLines(t, c.At(strings.NewReader(text[at.Offset:]), int(at.Line)))
			if !slices.Equal(rest, all[at.Row:]) || !slices.Equal(restLines, lines[at.Row:]) {
				t.Fatalf("from %+v: %q at %v, want %q at %v", at, rest, restLines, all[at.Row:], lines[at.Row:])
			}
		}
	})
}

func TestPlacesOfLines(t *testing.T) {
	text := "\n{\"a\": 1}\n  \t\r\n{\"b\": \"\\\"\"}\n{}"
	p, err := FindPlaces(strings.NewReader(text), 1, false, false)
	if err != nil || p.End.Row != 3 || len(p.Rows) != 3 {
		t.Fatalf("%+v, %v", p, err)
	}
	for row, want := range []string{`{"a": 1}`, `{"b": "\""}`, "{}"} {
		at := p.Rows[row]
		l := NewLinesAt("t", strings.NewReader(text[at.Offset:]), int(at.Line))
		line, err := l.Next()
		if err != nil || string(line) != want || l.Number() != []int{2, 4, 5}[row] {
			t.Errorf("row %d at %+v: %q in line %d, %v", row, at, line, l.Number(), err)
		}
	}
}
