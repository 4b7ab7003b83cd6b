package build

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"pipe/costs"
)

// records reads a table row by row as text. A missing value is "". Lists and
// objects are their JSON text.
type records interface {
	// Next reads the next record; false at the end and after an error.
	Next() bool
	// Record returns the cells of the current record, in the order of Columns,
	// for the caller to keep. It may be shorter than Columns at the end.
	Record() []string
	// Line returns where the current record is in the file, counted from 1: the
	// line of a text file, the row of a Parquet file.
	Line() int
	// Columns returns the names known so far; with JSON lines they may grow
	// from record to record.
	Columns() []string
	// Err returns what stopped Next, a *costs.DataError with the file, or nil.
	Err() error
	Close() error
}

// openRecords opens a file by its ending: .csv, .jsonl or .ndjson, each also
// with .gz, or .parquet.
func openRecords(file string) (records, error) {
	plain := strings.TrimSuffix(strings.ToLower(file), ".gz")
	switch {
	case strings.HasSuffix(plain, ".csv"):
		return openText(file, newCSVRecords)
	case strings.HasSuffix(plain, ".jsonl"), strings.HasSuffix(plain, ".ndjson"):
		return openText(file, newJSONRecords)
	case strings.HasSuffix(strings.ToLower(file), ".parquet"):
		return openParquetRecords(file)
	}
	return nil, fmt.Errorf("read table %q: unknown ending; known are .csv, .csv.gz, .jsonl, .jsonl.gz, .ndjson, .ndjson.gz and .parquet", file)
}

// openText opens a text file, gzipped if its name says so.
func openText(file string, open func(string, *bufio.Reader, io.Closer) (records, error)) (records, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	var text io.Reader = f
	if strings.HasSuffix(strings.ToLower(file), ".gz") {
		if text, err = gzip.NewReader(f); err != nil {
			f.Close()
			return nil, &costs.DataError{File: file, Msg: "not a gzip file", Err: err}
		}
	}
	buffered := bufio.NewReaderSize(text, 1<<16)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		_, _ = buffered.Discard(3) // just peeked
	}
	r, err := open(file, buffered, f)
	if err != nil {
		f.Close()
	}
	return r, err
}

// csvRecords reads comma-separated text with a header line.
type csvRecords struct {
	file   string
	in     *csv.Reader
	closer io.Closer
	header []string
	record []string
	line   int
	err    error
}

func newCSVRecords(file string, text *bufio.Reader, closer io.Closer) (records, error) {
	r := &csvRecords{file: file, in: csv.NewReader(text), closer: closer}
	header, err := r.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, &costs.DataError{File: file, Msg: "is empty"}
	}
	if err != nil {
		return nil, csvError(file, err)
	}
	r.header = header
	return r, nil
}

func (r *csvRecords) Next() bool {
	if r.err != nil {
		return false
	}
	record, err := r.in.Read()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			r.err = csvError(r.file, err)
		}
		return false
	}
	r.record = record
	r.line, _ = r.in.FieldPos(0)
	return true
}

func csvError(file string, err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return &costs.DataError{File: file, Err: err}
	}
	msg := parse.Err.Error()
	if errors.Is(parse.Err, csv.ErrFieldCount) {
		msg = "has another number of fields than the header"
	}
	return &costs.DataError{File: file, Row: parse.Line, Msg: msg}
}

func (r *csvRecords) Record() []string  { return r.record }
func (r *csvRecords) Line() int         { return r.line }
func (r *csvRecords) Columns() []string { return r.header }
func (r *csvRecords) Err() error        { return r.err }
func (r *csvRecords) Close() error      { return r.closer.Close() }
