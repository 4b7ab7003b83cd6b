package tabular

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"pipe/internal/parallel"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// csvFile is an open CSV file whose header has been read.
type csvFile struct {
	path   storage.Location
	file   storage.Opened
	size   int64
	body   int64          // offset of the end of the header
	lines  int            // lines of the header
	header []string       // normalised by columnName, unique
	at     map[string]int // column by name
}

func (f *csvFile) close() { f.file.Close() }

// has reports whether the file has a column.
func (f *csvFile) has(name string) bool {
	_, ok := f.at[name]
	return ok
}

// openCSV opens a file and checks its header.
func openCSV(ctx context.Context, path storage.Location) (*csvFile, error) {
	file, size, err := textfile.OpenAt(ctx, path)
	if err != nil {
		return nil, textError(err)
	}
	f := &csvFile{path: path, file: file, size: size}
	if err := f.readHeader(); err != nil {
		file.Close()
		return nil, err
	}
	return f, nil
}

// wrong is an error about a place in the file.
func (f *csvFile) wrong(line int, column, format string, args ...any) error {
	return &DataError{File: f.path.String(), Line: line, Column: shortText(column, 60), Msg: shortText(fmt.Sprintf(format, args...), 1000)}
}

func (f *csvFile) readHeader() error {
	start, err := f.skipMark()
	if err != nil {
		return err
	}
	if err := f.checkText(); err != nil {
		return err
	}
	r := csv.NewReader(textfile.Bounded(f.path.String(), 0, io.NewSectionReader(f.file, start, f.size-start), ','))
	names, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return f.wrong(0, "", "is empty")
	case err != nil:
		return f.misread(err, nil, 0)
	}
	f.body = start + r.InputOffset()
	head := make([]byte, r.InputOffset())
	if _, err := f.file.ReadAt(head, start); err != nil {
		return err
	}
	f.lines = bytes.Count(head, []byte("\n"))
	if err := textfile.CheckDelimiter(names, ','); err != nil {
		return &DataError{File: f.path.String(), Line: 1, Err: err}
	}
	return f.checkHeader(names)
}

// skipMark returns the offset of the text, after a byte order mark.
func (f *csvFile) skipMark() (int64, error) {
	mark := []byte("\ufeff")
	head := make([]byte, len(mark))
	n, err := f.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if n == len(mark) && bytes.Equal(head, mark) {
		return int64(n), nil
	}
	return 0, nil
}

func (f *csvFile) checkHeader(names []string) error {
	f.at = make(map[string]int, len(names))
	for i, raw := range names {
		name := columnName(raw)
		switch first, twice := f.at[name]; {
		case name == "":
			return f.wrong(1, "", "column %d of the header has no name", i+1)
		case !utf8.ValidString(name):
			return f.wrong(1, "", "column %d of the header, %q, is not UTF-8", i+1, shortText(badText(name), 60))
		case twice:
			return f.wrong(1, name, "is a duplicate in the header: columns %d and %d", first+1, i+1)
		}
		f.at[name] = i
		f.header = append(f.header, name)
	}
	return nil
}

// misread turns an error of the CSV reader into one about a place in the file.
// record is what the reader returned with the error; lines is the number of
// lines before its input.
func (f *csvFile) misread(err error, record []string, lines int) error {
	var parse *csv.ParseError
	var text *textfile.Error
	switch {
	case errors.As(err, &text):
		return textError(err)
	case !errors.As(err, &parse):
		return fmt.Errorf("read %q: %w", f.path, err)
	}
	line := lines + parse.Line
	switch {
	case errors.Is(err, csv.ErrFieldCount):
		return f.wrong(lines+parse.StartLine, f.raggedColumn(record), "the row has %d fields, the header %d", len(record), len(f.header))
	case errors.Is(err, csv.ErrQuote) && lines+parse.StartLine != line:
		return f.wrong(lines+parse.StartLine, "", "a quote that begins here is not closed in its field")
	}
	return f.wrong(line, f.columnAt(line, parse.Column), "stray quote at byte %d of the line", parse.Column)
}

// raggedColumn returns the first column that a short row lacks.
func (f *csvFile) raggedColumn(record []string) string {
	if len(record) < len(f.header) {
		return f.header[len(record)]
	}
	return ""
}

// columnAt returns the column at a byte of a line, both counted from 1, or ""
// if it cannot be determined.
func (f *csvFile) columnAt(line, at int) string {
	r := bufio.NewReader(io.NewSectionReader(f.file, 0, f.size))
	for range line - 1 {
		if _, err := r.ReadString('\n'); err != nil {
			return ""
		}
	}
	text, err := r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) || at < 1 || at > len(text) {
		return ""
	}
	lazy := csv.NewReader(strings.NewReader(text[:at-1] + "x"))
	lazy.LazyQuotes, lazy.FieldsPerRecord = true, -1
	fields, err := lazy.Read()
	if err != nil || len(fields) > len(f.header) {
		return ""
	}
	return f.header[len(fields)-1]
}

// checkText rejects content that is not text but is often passed by mistake.
func (f *csvFile) checkText() error {
	head := make([]byte, 4096)
	n, err := f.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return textError(textfile.NotText(f.path.String(), head[:n]))
}

// textError is a *DataError for text that cannot be read; other errors it returns unchanged.
func textError(err error) error {
	var text *textfile.Error
	if !errors.As(err, &text) {
		return err
	}
	return &DataError{File: text.File, Line: text.Line, Column: shortText(text.Column, 60), Err: text.Err}
}

// shortText truncates a text that is too long for a message.
func shortText(s string, longest int) string {
	if r := []rune(s); len(r) > longest {
		return string(r[:longest]) + "..."
	}
	return s
}

func badText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// piece is a part of a file that consists of whole lines.
type piece struct {
	from, to int64
	before   int // lines before it, in the file
	rows     int // upper bound
}

// chunk describes a stretch of a file.
type chunk struct {
	newlines int
	last     int64 // offset after the last newline, 0 if there is none
	quoted   bool
	err      error
}

// cut divides the body at line ends. A file that contains a quote stays whole,
// since a line may then end within a field. The cuts do not depend on the
// number of cores.
func (f *csvFile) cut(bytesPerPiece int64) ([]piece, error) {
	n := int((f.size - f.body + bytesPerPiece - 1) / bytesPerPiece)
	chunks := make([]chunk, n)
	parallel.Do(n, func(i int) { chunks[i] = f.scan(f.body+int64(i)*bytesPerPiece, bytesPerPiece) })
	quoted := false
	for _, c := range chunks {
		if c.err != nil {
			return nil, c.err
		}
		quoted = quoted || c.quoted
	}
	var pieces []piece
	next := piece{from: f.body, before: f.lines}
	lines, first := f.lines, f.lines
	for i, c := range chunks {
		lines += c.newlines
		end := i == n-1
		if !end && (quoted || c.last == 0) {
			continue
		}
		next.to = c.last
		if end {
			next.to = f.size
		}
		next.rows = f.capacity(next.to-next.from, lines-first)
		pieces = append(pieces, next)
		next, first = piece{from: next.to, before: lines}, lines
	}
	return pieces, nil
}

// capacity is an upper bound of the rows in a piece: its lines, or its bytes
// divided by the least size of a row, so that a file of empty lines does not
// allocate much memory.
func (f *csvFile) capacity(size int64, newlines int) int {
	return min(newlines, int(size)/len(f.header)) + 1
}

func (f *csvFile) scan(from, size int64) (c chunk) {
	buffer := make([]byte, min(size, f.size-from))
	if _, err := f.file.ReadAt(buffer, from); err != nil {
		c.err = fmt.Errorf("read %q: %w", f.path, err)
		return c
	}
	c.newlines = bytes.Count(buffer, []byte("\n"))
	c.quoted = bytes.IndexByte(buffer, '"') >= 0
	if i := bytes.LastIndexByte(buffer, '\n'); i >= 0 {
		c.last = from + int64(i) + 1
	}
	return c
}
