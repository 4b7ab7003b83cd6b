package decide

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"pipe/costs"
	"pipe/internal/textfile"
	"pipe/models/policy"
)

// fieldEncoder computes the policy's features from one field of raw rows: a text, or the path of an image.
type fieldEncoder struct {
	input string // InputText or InputImage
	field string // the column of CSV, or field of JSONL, that is read
	dim   int    // features of a row
	most  int    // rows of a call
	// encode writes the features of every value into dst, values x dim. An error about one of the values is a
	// *RowError.
	encode func(ctx context.Context, dst []float32, values []string) error
}

// encodedSource reads raw rows, CSV with a header or JSONL, and encodes one field of each.
type encodedSource struct {
	file    string
	in      io.Closer
	encoder fieldEncoder
	read    func() (encodedRow, error) // the next row
	seen    int
}

// encodedRow is a raw row with the field that goes through an encoder.
type encodedRow struct {
	id    string // "" if it has none
	value string // of the field
	line  int    // in the file, counted from 1
}

// openEncoded opens raw rows.
func openEncoded(ctx context.Context, in rowFile, e fieldEncoder) (featureSource, error) {
	s := &encodedSource{encoder: e}
	var r *bufio.Reader
	var err error
	if s.file, s.in, r, err = openRawText(ctx, in); err != nil {
		return nil, err
	}
	if err := s.start(r, in); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// start chooses the reader of rows by format, file name or first bytes.
func (s *encodedSource) start(r *bufio.Reader, in rowFile) (err error) {
	format := in.format
	if format == formatAuto && in.path != "-" {
		format = formatOf(in.path)
	}
	if format == formatAuto {
		format = sniff(r)
	}
	switch format {
	case formatJSONL:
		s.read = jsonField(s.file, r, s.encoder.field)
	case formatCSV:
		s.read, err = csvField(s.file, r, s.encoder.field)
	default:
		err = &costs.DataError{File: s.file, Msg: fmt.Sprintf("is Parquet; rows with %ss must be CSV or JSONL", s.encoder.input)}
	}
	return err
}

func (s *encodedSource) rows() int64 { return -1 }
func (s *encodedSource) close()      { _ = s.in.Close() } // only read from: nothing is lost

func (s *encodedSource) next(ctx context.Context) (*rowBatch, error) {
	b, values, lines := &rowBatch{}, []string(nil), []int(nil)
	for len(values) < s.encoder.most {
		row, err := s.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if row.id == "" {
			row.id = strconv.Itoa(s.seen)
		}
		s.seen++
		b.ids, values, lines = append(b.ids, row.id), append(values, row.value), append(lines, row.line)
	}
	b.features = make([]float32, len(values)*s.encoder.dim)
	if err := s.encoder.encode(ctx, b.features, values); err != nil {
		return nil, s.bad(err, lines)
	}
	return b.orEnd(s.file, s.seen)
}

// bad adds the place in the file to an error about rows; lines are the lines of the rows.
func (s *encodedSource) bad(err error, lines []int) error {
	var row *policy.RowError
	if errors.As(err, &row) {
		return badRows(&costs.DataError{File: s.file, Row: lines[row.Row], Column: s.encoder.field, Err: row.Err})
	}
	return fmt.Errorf("rows %d to %d of %s: %w", s.seen-len(lines)+1, s.seen, s.file, err)
}

func badRows(e *costs.DataError) error { return fmt.Errorf("read rows: %w", e) }

// jsonField reads one object per line: {"id": 7, "claim": "..."} for the field claim. Other fields are ignored.
func jsonField(file string, r *bufio.Reader, field string) func() (encodedRow, error) {
	lines := &jsonlSource{file: file, lines: textfile.NewLines(file, r)}
	return func() (encodedRow, error) {
		row, err := lines.readObject()
		if err != nil {
			return encodedRow{}, err
		}
		var value *string
		if raw, ok := row[field]; !ok || json.Unmarshal(raw, &value) != nil || value == nil {
			return encodedRow{}, lines.bad(field, "is missing or not a string")
		}
		id, err := lines.name(row["id"])
		lines.seen++
		return encodedRow{id, *value, lines.lines.Number()}, err
	}
}

// csvField reads a table with a header. column is the column to encode; the column id is optional.
func csvField(file string, r *bufio.Reader, column string) (func() (encodedRow, error), error) {
	rows, err := textfile.NewCSV(file, r, ',')
	if err != nil {
		return nil, badText("rows", file, err)
	}
	header := rows.Header()
	at, idAt := slices.Index(header, column), slices.Index(header, "id")
	if at < 0 {
		return nil, badFeatures(&costs.DataError{File: file, Row: 1, Column: column, Msg: "is missing; the columns are " + textfile.Listed(header, 12)})
	}
	return func() (row encodedRow, err error) {
		record, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return row, err
		}
		if err != nil {
			return row, badText("rows", file, err)
		}
		row.value, row.line = record[at], rows.Line(at)
		if idAt >= 0 {
			row.id = record[idAt]
		}
		return row, nil
	}, nil
}
