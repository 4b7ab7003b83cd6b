package textfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Place is where a row of a table of text begins: the rows, bytes and lines of the file before it. The header of CSV is
// no row.
type Place struct {
	Row    int64 `json:"row"`
	Offset int64 `json:"offset"`
	Line   int64 `json:"line"`
}

// Places finds where rows begin without reading them: the place of the first of every Every rows, and the end.
// It follows newlines and the quotes of CSV, as [Bounded] does, so text that breaks the rules of quotes may be cut in
// the middle of a row, which its reader then refuses. Blank lines are no rows.
type Places struct {
	Every int64 // rows from one place to the next
	Rows  []Place
	End   Place // the number of rows, and the size of the file in bytes and lines
}

// FindPlaces reads the whole of in. header says that the first row is a header, and quotes that quotes count; without
// them, every line that is not blank is a row.
func FindPlaces(in io.Reader, every int64, header, quotes bool) (*Places, error) {
	if every < 1 {
		return nil, fmt.Errorf("find rows: every %d rows", every)
	}
	p := &Places{Every: every}
	f := finder{places: p, quotes: quotes, header: header}
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadSlice('\n')
		f.take(line)
		switch {
		case errors.Is(err, io.EOF):
			f.end()
			return p, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Before is the last place at or before a row.
func (p *Places) Before(row int64) Place {
	if row >= p.End.Row || len(p.Rows) == 0 {
		return p.End
	}
	return p.Rows[row/p.Every]
}

// finder follows the lines of a file.
type finder struct {
	places *Places
	header bool // the next row is the header
	quotes bool
	quoted bool // the next byte is within quotes
	open   bool // a row has begun
	at     Place
	start  Place // of the row that has begun
}

// take takes a line, or the part of one that fits the buffer.
func (f *finder) take(line []byte) {
	if !f.open && !f.blank(line) {
		f.open, f.start = true, f.at
	}
	f.at.Offset += int64(len(line))
	if f.quotes && bytes.Count(line, []byte{'"'})%2 == 1 {
		f.quoted = !f.quoted
	}
	if !bytes.HasSuffix(line, []byte{'\n'}) {
		return
	}
	f.at.Line++
	if f.open && !f.quoted {
		f.row()
	}
}

// blank reports whether a line that begins no quoted text is skipped by the readers.
func (f *finder) blank(line []byte) bool {
	if f.quotes {
		return len(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})) == 0
	}
	return len(bytes.TrimSpace(line)) == 0
}

// row ends a row.
func (f *finder) row() {
	f.open = false
	if f.header {
		f.header = false
		return
	}
	if f.at.Row%f.places.Every == 0 {
		f.places.Rows = append(f.places.Rows, f.start)
	}
	f.at.Row++
	f.start.Row = f.at.Row
}

// end ends the file, and a last row without a newline.
func (f *finder) end() {
	if f.open {
		f.row()
	}
	f.places.End = f.at
}
