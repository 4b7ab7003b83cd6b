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
	"pipe/internal/strictjson"
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
	fields  fieldReader
	seen    int
}

// fieldReader reads the rows of a file with the field that goes through an encoder. move goes on from another place.
type fieldReader interface {
	read() (encodedRow, error)
	move(in io.Reader, at textfile.Place)
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
	if err := s.start(ctx, r, in); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// start chooses the reader of rows by format, file name or first bytes.
func (s *encodedSource) start(ctx context.Context, r *bufio.Reader, in rowFile) (err error) {
	format := in.format
	if format == formatAuto && in.path.String() != "-" {
		format = formatOf(ctx, in.path)
	}
	if format == formatAuto {
		format = sniff(r)
	}
	switch format {
	case formatJSONL:
		s.fields = &jsonFields{&jsonlSource{file: s.file, lines: textfile.NewLines(s.file, r)}, s.encoder.field}
	case formatCSV:
		s.fields, err = openCSVFields(s.file, r, s.encoder.field)
	default:
		err = &costs.DataError{File: s.file, Msg: fmt.Sprintf("is Parquet; rows with %ss must be CSV or JSONL", s.encoder.input)}
	}
	return err
}

func (s *encodedSource) rows() int64 { return -1 }
func (s *encodedSource) close()      { _ = s.in.Close() } // only read from: nothing is lost

func (s *encodedSource) move(in io.Reader, at textfile.Place) {
	s.fields.move(in, at)
	s.seen = int(at.Row)
}

func (s *encodedSource) next(ctx context.Context) (*rowBatch, error) {
	b, values, lines := &rowBatch{}, []string(nil), []int(nil)
	for len(values) < s.encoder.most {
		row, err := s.fields.read()
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
	if row, ok := errors.AsType[*policy.RowError](err); ok {
		return badRows(&costs.DataError{File: s.file, Row: lines[row.Row], Column: s.encoder.field, Err: row.Err})
	}
	return fmt.Errorf("rows %d to %d of %s: %w", s.seen-len(lines)+1, s.seen, s.file, err)
}

func badRows(e *costs.DataError) error { return fmt.Errorf("read rows: %w", e) }

// jsonFields reads one object per line: {"id": 7, "claim": "..."} for the field claim. Other fields are ignored.
type jsonFields struct {
	lines *jsonlSource
	field string
}

func (f *jsonFields) read() (encodedRow, error) {
	row, err := f.lines.readObject()
	if err != nil {
		return encodedRow{}, err
	}
	var value *string
	if raw, ok := row[f.field]; !ok || json.Unmarshal(raw, &value) != nil || value == nil {
		return encodedRow{}, f.lines.bad(f.field, "is missing or not a string")
	}
	if err := strictjson.Check(row[f.field]); err != nil {
		return encodedRow{}, f.lines.bad(f.field, "%v", err)
	}
	id, err := f.lines.name(row["id"])
	f.lines.seen++
	return encodedRow{id, *value, f.lines.lines.Number()}, err
}

func (f *jsonFields) move(in io.Reader, at textfile.Place) { f.lines.move(in, at) }

// csvFields reads a table with a header.
type csvFields struct {
	file     string
	rows     *textfile.CSV
	at, idAt int // the column to encode, and the optional column id, -1 if there is none
}

func openCSVFields(file string, r *bufio.Reader, column string) (*csvFields, error) {
	rows, err := textfile.NewCSV(file, r, ',')
	if err != nil {
		return nil, badText("rows", file, err)
	}
	header := rows.Header()
	f := &csvFields{file, rows, slices.Index(header, column), slices.Index(header, "id")}
	if f.at < 0 {
		return nil, badFeatures(&costs.DataError{File: file, Row: 1, Column: column, Msg: "is missing; the columns are " + textfile.Listed(header, 12)})
	}
	return f, nil
}

func (f *csvFields) read() (row encodedRow, err error) {
	record, err := f.rows.Read()
	if errors.Is(err, io.EOF) {
		return row, err
	}
	if err != nil {
		return row, badText("rows", f.file, err)
	}
	row.value, row.line = record[f.at], f.rows.Line(f.at)
	if f.idAt >= 0 {
		row.id = record[f.idAt]
	}
	return row, nil
}

func (f *csvFields) move(in io.Reader, at textfile.Place) { f.rows = f.rows.At(in, int(at.Line)) }
