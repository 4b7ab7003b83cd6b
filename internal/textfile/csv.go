package textfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// CSV reads a table with a header row. Fields are separated by one character and may be quoted; every row has as many
// fields as the header; blank lines are skipped. All text is UTF-8.
type CSV struct {
	file   string
	csv    *csv.Reader
	header []string
	before int // lines of the file before the reader's text
}

// NewCSV reads the header of in, which errors call file. Invalid text is an *Error.
func NewCSV(file string, in io.Reader, comma rune) (*CSV, error) {
	return newCSV(file, Bounded(file, 0, in, comma), comma)
}

func newCSV(file string, in io.Reader, comma rune) (*CSV, error) {
	c := &CSV{file: file, csv: csv.NewReader(in)}
	c.csv.Comma = comma
	header, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, c.wrong(0, "", "is empty; a header line with the column names is expected")
	}
	if err != nil {
		return nil, c.syntax(err, header)
	}
	for i, name := range header {
		if !utf8.ValidString(name) {
			return nil, &Error{File: file, Line: 1, Err: &Fault{
				fmt.Sprintf("the name of column %d, %q, is not UTF-8", i+1, Short(name)), encodingAdvice("ISO-8859-1"),
			}}
		}
	}
	if err := CheckDelimiter(header, comma); err != nil {
		return nil, &Error{File: file, Line: 1, Err: err}
	}
	c.header = header
	c.csv.ReuseRecord = true
	return c, nil
}

// At reads the same table from a later place: in has the text from there, and lines is the number of lines before it.
func (c *CSV) At(in io.Reader, lines int) *CSV {
	there := &CSV{file: c.file, header: c.header, before: lines}
	there.csv = csv.NewReader(Bounded(c.file, lines, in, c.csv.Comma))
	there.csv.Comma, there.csv.FieldsPerRecord, there.csv.ReuseRecord = c.csv.Comma, len(c.header), true
	return there
}

// Header returns the names of the columns as written.
func (c *CSV) Header() []string { return c.header }

// Read returns the fields of the next row, valid until the next call, and io.EOF after the last. Invalid text is an
// *Error with its line; other read errors are unchanged.
func (c *CSV) Read() ([]string, error) {
	record, err := c.csv.Read()
	if err != nil {
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, io.EOF
		}
		return nil, c.syntax(err, record)
	}
	for i, field := range record {
		if !utf8.ValidString(field) {
			return nil, &Error{File: c.file, Line: c.Line(i), Column: c.header[i], Err: &Fault{
				fmt.Sprintf("%q is not UTF-8", Short(field)), encodingAdvice("ISO-8859-1"),
			}}
		}
	}
	return record, nil
}

// Line is the line on which a field of the last row begins, counted from 1.
func (c *CSV) Line(field int) int {
	line, _ := c.csv.FieldPos(field)
	return c.before + line
}

func (c *CSV) wrong(line int, column, format string, args ...any) error {
	return &Error{File: c.file, Line: line, Column: column, Err: faultf(format, args...)}
}

// syntax rewords an error of the CSV package; record is the record that was returned with it.
func (c *CSV) syntax(err error, record []string) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return readError(c.file, 0, err)
	}
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		column := ""
		if len(record) < len(c.header) {
			column = c.header[len(record)]
		}
		return c.wrong(c.before+parse.StartLine, column, "the row has %d fields, the header %d", len(record), len(c.header))
	case errors.Is(err, csv.ErrQuote) && parse.StartLine != parse.Line:
		return c.wrong(c.before+parse.StartLine, "", "a quote is opened in this row and not closed")
	}
	return c.wrong(c.before+parse.Line, "", "stray quote at byte %d of the line", parse.Column)
}

// CheckDelimiter refuses a header of one column that another delimiter would divide, and a header with the wrong line
// endings.
func CheckDelimiter(header []string, comma rune) error {
	for i, name := range header {
		if at := strings.IndexByte(name, '\r'); at >= 0 {
			return &Fault{
				fmt.Sprintf("column %d of the header has a carriage return in its name: lines must end in a newline", i+1),
				"write the file again with newlines, for example by: tr '\\r' '\\n' < OLD > NEW",
			}
		}
	}
	if len(header) != 1 {
		return nil
	}
	for _, other := range []struct {
		sign rune
		name string
	}{{';', "semicolons"}, {'\t', "tabs"}, {'|', "bars"}, {',', "commas"}} {
		if n := strings.Count(header[0], string(other.sign)); other.sign != comma && n > 0 {
			return &Fault{
				fmt.Sprintf("the header is one column with %d %s in its name; columns are separated by %s", n, other.name, delimiterName(comma)),
				"separate the columns by " + delimiterName(comma) + ", with a point in decimal numbers; pandas: read_csv(OLD, sep=" + fmt.Sprintf("%q", other.sign) + ").to_csv(NEW, index=False)",
			}
		}
	}
	return nil
}

func delimiterName(comma rune) string {
	if comma == '\t' {
		return "tabs"
	}
	return "commas"
}

// Bounded passes CSV on and returns an *Error at a row that is longer than MaxLine, including the line breaks within
// its quotes, or has more than MaxColumns fields. It is needed because a CSV reader keeps a whole row in memory. before
// is the number of lines before in.
func Bounded(file string, before int, in io.Reader, comma rune) io.Reader {
	return within(MaxLine, MaxColumns, file, before, in, comma)
}

// within is Bounded with other limits.
func within(longest, most int, file string, before int, in io.Reader, comma rune) io.Reader {
	const buffer = 1 << 16
	return bufio.NewReaderSize(&bounded{
		longest: longest, most: most, file: file, in: in, comma: byte(comma), line: before, start: before + 1,
	}, buffer)
}

// bounded follows quotes and line endings only as far as it needs to find the ends of rows: a row ends at a newline
// after an even number of quotes. Text that breaks the quoting rules makes the CSV reader fail before this matters.
type bounded struct {
	longest int // bytes of a row
	most    int // fields of a row
	file    string
	in      io.Reader
	comma   byte
	quoted  bool
	line    int // line breaks seen
	start   int // line on which the row begins
	bytes   int // of the row so far
	columns int // delimiters of the row so far
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.follow(p[:n])
	switch {
	case b.bytes > b.longest:
		return 0, &Error{File: b.file, Line: b.start, Err: faultf("the row is longer than %d MiB, the most that is read", b.longest>>20)}
	case b.columns >= b.most:
		return 0, &Error{File: b.file, Line: b.start, Err: faultf("the row has more than %d fields, the most that are read", b.most)}
	}
	return n, err
}

func (b *bounded) follow(p []byte) {
	for len(p) > 0 {
		part, rest, found := bytes.Cut(p, []byte{'"'})
		b.part(part)
		if p = rest; found {
			b.quoted = !b.quoted
			b.bytes++
		}
	}
}

// part handles text without quotes.
func (b *bounded) part(p []byte) {
	breaks := bytes.Count(p, []byte{'\n'})
	b.line += breaks
	if !b.quoted && breaks > 0 {
		b.start = b.line + 1
		b.bytes, b.columns = 0, 0
		p = p[bytes.LastIndexByte(p, '\n')+1:]
	}
	b.bytes += len(p)
	if !b.quoted {
		b.columns += bytes.Count(p, []byte{b.comma})
	}
}
