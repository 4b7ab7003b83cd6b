package pipeline

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"pipe/costs"
)

const textBatch = 4096 // rows per batch of CSV and JSONL

// csvSource reads a table with a header: a column id (without one, rows count from 0) and the features in the order of
// the other columns.
type csvSource struct {
	file   string
	in     io.Closer
	csv    *csv.Reader
	header []string
	id     int // column of the id, -1 if there is none
	dim    int
	seen   int
}

func newCSVSource(file string, in io.Closer, r io.Reader, dim int) (*csvSource, error) {
	s := &csvSource{file: file, in: in, csv: csv.NewReader(r), id: -1, dim: dim}
	header, err := s.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, badFeatures(&costs.DataError{File: file, Msg: "is empty; a header line with the column names is expected"})
	}
	if err != nil {
		return nil, s.bad(err)
	}
	s.header = header
	s.csv.ReuseRecord = true
	for c, name := range header {
		if slices.Contains(header[:c], name) {
			return nil, badFeatures(&costs.DataError{File: file, Row: 1, Column: name, Msg: "is there twice"})
		}
		if name == "id" {
			s.id = c
		}
	}
	features := len(header)
	if s.id >= 0 {
		features--
	}
	if features != dim {
		return nil, badFeatures(&costs.DataError{
			File: file, Row: 1,
			Msg: fmt.Sprintf("has %d feature columns (every column but id), the policy takes %d", features, dim),
		})
	}
	return s, nil
}

func (s *csvSource) rows() int64 { return -1 }
func (s *csvSource) close()      { _ = s.in.Close() } // only read from: nothing is lost

func (s *csvSource) next() (*rowBatch, error) {
	b := &rowBatch{features: make([]float32, 0, textBatch*s.dim)}
	for len(b.ids) < textBatch {
		record, err := s.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, s.bad(err)
		}
		if err := s.add(b, record); err != nil {
			return nil, err
		}
	}
	return b.orEnd(s.file, s.seen)
}

func (s *csvSource) add(b *rowBatch, record []string) error {
	id := strconv.Itoa(s.seen)
	s.seen++
	for c, cell := range record {
		if c == s.id {
			id = cell
			continue
		}
		v, err := strconv.ParseFloat(cell, 32)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			line, _ := s.csv.FieldPos(c)
			return badFeatures(&costs.DataError{File: s.file, Row: line, Column: s.header[c], Msg: fmt.Sprintf("%q is not a finite number", cell)})
		}
		b.features = append(b.features, float32(v))
	}
	b.ids = append(b.ids, string([]byte(id))) // a copy: the record's memory is used again
	return nil
}

// bad turns a syntax error of the CSV reader into ours; an error of the medium stays what it is.
func (s *csvSource) bad(err error) error {
	var syntax *csv.ParseError
	if errors.As(err, &syntax) {
		return badFeatures(&costs.DataError{File: s.file, Row: syntax.Line, Msg: syntax.Err.Error()})
	}
	return fmt.Errorf("read features %q: %w", s.file, err)
}

// jsonlSource reads one object per line: {"id": "a", "features": [0.1, 2]}. Other fields are ignored; without an id,
// rows count from 0.
type jsonlSource struct {
	file  string
	in    io.Closer
	lines *costs.Lines
	dim   int
	seen  int
}

// feature is a number of a JSON list; unlike float32 it refuses null.
type feature float32

func (f *feature) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 32)
	if err != nil {
		return notNumber(text)
	}
	*f = feature(v)
	return nil
}

// notNumber is the text that stands where a feature is expected.
type notNumber string

func (n notNumber) Error() string { return string(n) + " is not a finite number" }

type featureLine struct {
	ID       json.RawMessage `json:"id"`
	Features []feature       `json:"features"`
}

func (s *jsonlSource) rows() int64 { return -1 }
func (s *jsonlSource) close()      { _ = s.in.Close() } // only read from: nothing is lost

func (s *jsonlSource) next() (*rowBatch, error) {
	b := &rowBatch{features: make([]float32, 0, textBatch*s.dim)}
	for len(b.ids) < textBatch {
		text, err := s.readLine()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := s.add(b, text); err != nil {
			return nil, err
		}
	}
	return b.orEnd(s.file, s.seen)
}

// orEnd is b, or the end of the input where b is empty; an input that ends before its first row is an error.
func (b *rowBatch) orEnd(file string, seen int) (*rowBatch, error) {
	switch {
	case len(b.ids) > 0:
		return b, nil
	case seen == 0:
		return nil, badFeatures(&costs.DataError{File: file, Msg: "has no rows"})
	}
	return nil, io.EOF
}

// readLine returns the next line, valid until the next call.
func (s *jsonlSource) readLine() ([]byte, error) {
	line, err := s.lines.Next()
	var long *costs.DataError
	switch {
	case err == nil || errors.Is(err, io.EOF):
		return line, err
	case errors.As(err, &long):
		return nil, badFeatures(long)
	}
	return nil, fmt.Errorf("read features %q: %w", s.file, err)
}

func (s *jsonlSource) add(b *rowBatch, text []byte) error {
	var row featureLine
	if err := json.Unmarshal(text, &row); err != nil {
		return s.badJSON(err)
	}
	if len(row.Features) != s.dim {
		return s.bad("features", "has %d features, the policy takes %d", len(row.Features), s.dim)
	}
	id, err := s.name(row.ID)
	if err != nil {
		return err
	}
	for _, v := range row.Features {
		b.features = append(b.features, float32(v))
	}
	b.ids = append(b.ids, id)
	s.seen++
	return nil
}

// badJSON says what is wrong with a line in words of the file instead of Go's types.
func (s *jsonlSource) badJSON(err error) error {
	var shape *json.UnmarshalTypeError
	var number notNumber
	switch {
	case errors.As(err, &number):
		return s.bad("features", "%v", number)
	case !errors.As(err, &shape):
		return s.bad("", "%v", err)
	case shape.Field == "":
		return s.bad("", `is a JSON %s, not an object such as {"id": "a", "features": [0.1, 2]}`, shape.Value)
	}
	return s.bad(shape.Field, "is a JSON %s, not a list of numbers", shape.Value)
}

// name reads an id, which may be text or a number.
func (s *jsonlSource) name(raw json.RawMessage) (string, error) {
	var text string
	var number json.Number
	switch {
	case len(raw) == 0:
		return strconv.Itoa(s.seen), nil
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		return text, nil
	case raw[0] != 'n' && json.Unmarshal(raw, &number) == nil:
		return number.String(), nil
	}
	return "", s.bad("id", "%s is neither text nor a number", raw)
}

func (s *jsonlSource) bad(column, format string, args ...any) error {
	return badFeatures(&costs.DataError{File: s.file, Row: s.lines.Number(), Column: column, Msg: fmt.Sprintf(format, args...)})
}
