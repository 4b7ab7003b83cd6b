package textfile

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// FuzzLines: for any bytes, the result is the lines of the text without blank ones, as UTF-8 and with their numbers, or
// an *Error with the number. How the bytes arrive only affects how much of the beginning can be examined.
func FuzzLines(f *testing.F) {
	for _, text := range []string{"", "a", "{\"a\": 1}\r\n\n\t\n{}", "\xff\n", "\x00a\x00b\n", "\ufeffa\n", "PAR1", "\x1f\x8b\x08", "a\rb\n"} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Add([]byte("0000\x00"), false)
	f.Fuzz(func(t *testing.T, b []byte, zipped bool) {
		text := b
		if zipped {
			b = gzipped(t, b)
		}
		lines, numbers, err := readLines(bytes.NewReader(b))
		var bad *Error
		if err != nil && (!errors.As(err, &bad) || bad.File != "f") {
			t.Fatal(err)
		}
		if err != nil && bad.Line == 0 {
			return // the beginning is that of another format
		}
		again, _, err2 := readLines(iotest.OneByteReader(bytes.NewReader(b)))
		if !slices.Equal(lines, again) || (err == nil) != (err2 == nil) {
			t.Fatalf("%q, %v and byte by byte %q, %v", lines, err, again, err2)
		}
		if !zipped && bytes.HasPrefix(b, []byte(gzipMark)) {
			return
		}
		all := bytes.Split(bytes.TrimPrefix(text, []byte(byteOrderMark)), []byte("\n"))
		for i, line := range lines {
			if want := string(bytes.TrimSpace(all[numbers[i]-1])); line != want || line == "" || !utf8.ValidString(line) {
				t.Fatalf("line %d is %q, want %q", numbers[i], line, want)
			}
		}
		full := 0
		for _, line := range all {
			if len(bytes.TrimSpace(line)) > 0 {
				full++
			}
		}
		if err == nil && full != len(lines) {
			t.Fatalf("%d lines, want %d", len(lines), full)
		}
	})
}

func gzipped(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readLines(in io.Reader) (lines []string, numbers []int, err error) {
	r, err := Decode("f", in, false)
	if err != nil {
		return nil, nil, err
	}
	for l := NewLines("f", r); ; {
		line, err := l.Next()
		if errors.Is(err, io.EOF) {
			return lines, numbers, nil
		}
		if err != nil {
			return lines, numbers, err
		}
		lines, numbers = append(lines, string(line)), append(numbers, l.Number())
	}
}

// FuzzCSV: for any bytes, the result is rows in UTF-8 that are as wide as the header, with increasing lines, or an
// *Error. The rows are those of encoding/csv, and do not depend on how the bytes arrive.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "a,b\r\n\"1\n2\",\"\"\"\"\r\n\n3,4", "a;b\n1;2\n", "a\tb\n1\t2\n", "a,b\n1\n", "a,b\n\"1,2\n", "a,a\n1,2\n", "\xff,b\n", "a,b\n\xff,1\n", "a\rb\n", ""} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, tabs bool) {
		comma := ','
		if tabs {
			comma = '\t'
		}
		rows, err := readRows(t, bytes.NewReader(b), comma)
		again, err2 := readRows(t, iotest.HalfReader(bytes.NewReader(b)), comma)
		if (err == nil) != (err2 == nil) || !slices.EqualFunc(rows, again, slices.Equal) {
			t.Fatalf("%q, %v and in pieces %q, %v", rows, err, again, err2)
		}
		var bad *Error
		if err != nil {
			if !errors.As(err, &bad) || bad.File != "f" {
				t.Fatal(err)
			}
			return
		}
		r := csv.NewReader(bytes.NewReader(b))
		r.Comma = comma
		want, err := r.ReadAll()
		if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
			t.Fatalf("%q, want %q (%v)", rows, want, err)
		}
	})
}

func readRows(t *testing.T, in io.Reader, comma rune) (rows [][]string, err error) {
	c, err := NewCSV("f", in, comma)
	if err != nil {
		return nil, err
	}
	rows = append(rows, slices.Clone(c.Header()))
	line := 0
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if len(row) != len(c.Header()) || c.Line(0) <= line || !utf8.ValidString(strings.Join(row, "")) {
			t.Fatalf("line %d after %d: %q", c.Line(0), line, row)
		}
		line = c.Line(0)
		rows = append(rows, slices.Clone(row))
	}
}

// FuzzParseNumber: a number is parsed to the nearest float64, as by strconv, and nothing that strconv refuses is
// accepted.
func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"0", "-12", "0.5", "1e-3", ".5", "5.", "-", "", "1_000", "0x1p3", "inf", "NaN", "1e400", "123456789012345.6", "3.4028235677973366e38", "+1", "1,5", " 1", "1e", "00.10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseNumber(s)
		want, wrong := strconv.ParseFloat(s, 64)
		switch plain := strings.Trim(s, "0123456789+-.eE") == ""; {
		case err != nil && !errors.Is(err, ErrNotNumber) && !errors.Is(err, ErrTooLarge):
			t.Fatal(err)
		case (err == nil) != (wrong == nil && plain):
			t.Fatalf("%q: %v, strconv %v", s, err, wrong)
		case err == nil && (math.Float64bits(v) != math.Float64bits(want) || v-v != 0):
			t.Fatalf("%q is %v, want %v", s, v, want)
		}
		if g, err := ParseFloat32(s); err == nil && g != float32(v) || err == nil && g-g != 0 {
			t.Fatalf("%q is %v", s, g)
		}
	})
}
