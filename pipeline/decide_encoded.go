package pipeline

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/costs/build"
	"pipe/featurize"
	"pipe/models"
	"pipe/onnx/ort"
)

// rowEncoder makes vectors of one field of raw rows: texts, or images that are named there.
type rowEncoder interface {
	info() featurize.EncoderInfo // input, name, dimension and digest
	field() string               // the column of CSV, or field of JSONL, that is read
	batch() int                  // most rows of a call
	// encode writes the vector of every row into dst, rows x dimension. What is wrong with a row is a *rowError.
	encode(ctx context.Context, dst []float32, rows []encodedRow) error
	close()
}

// encodedRow is a raw row of which one field goes through an encoder.
type encodedRow struct {
	id    string // "" if it has none
	value string // of the field
	line  int    // in the file, counted from 1
}

// rowError is what is wrong with one row of a batch.
type rowError struct {
	row int
	err error
}

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

// fitsEncoder holds a policy against an encoder: by the number of features, and by digest where the policy says what its
// features are.
func fitsEncoder(policy *models.PolicyInfo, e featurize.EncoderInfo) error {
	if err := build.CheckEncoderFeatures(policy.Actions, e); err != nil {
		return err
	}
	if e.Dim != policy.Dim {
		return fmt.Errorf("takes %d features, the encoder makes %d", policy.Dim, e.Dim)
	}
	return nil
}

// encodedSource reads raw rows, CSV with a header or JSONL, and makes of one field of each what the policy was trained on.
type encodedSource struct {
	ctx     context.Context
	file    string
	in      io.Closer
	encoder rowEncoder
	read    func() (encodedRow, error) // the next row
	seen    int
}

// openEncoded opens raw rows for a policy.
func openEncoded(ctx context.Context, rt *ort.Runtime, o DecideOptions, stdin io.Reader, policy *models.PolicyInfo) (_ *encodedSource, err error) {
	e, err := openRowEncoder(rt, o)
	if err != nil {
		return nil, err
	}
	s := &encodedSource{ctx: ctx, encoder: e}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := fitsEncoder(policy, e.info()); err != nil {
		return nil, &OptionError{fmt.Errorf("policy %q: %w", o.Policy, err)}
	}
	var r *bufio.Reader
	if s.file, s.in, r, err = openRawText(ctx, o.In, stdin); err != nil {
		return nil, err
	}
	return s, s.start(r, o)
}

// start chooses the reader of rows by format, name or first bytes.
func (s *encodedSource) start(r *bufio.Reader, o DecideOptions) (err error) {
	format := o.InFormat
	if format == formatAuto && o.In != "-" {
		format = formatOf(o.In)
	}
	if format == formatAuto {
		format = sniff(r)
	}
	switch format {
	case formatJSONL:
		s.read = jsonField(s.file, r, s.encoder.field())
	case formatCSV:
		s.read, err = csvField(s.file, r, s.encoder.field())
	default:
		err = &costs.DataError{File: s.file, Msg: fmt.Sprintf("is Parquet; %ss come as CSV or JSONL", s.encoder.info().Input)}
	}
	return err
}

func (s *encodedSource) rows() int64 { return -1 }

func (s *encodedSource) close() {
	if s.in != nil {
		_ = s.in.Close() // only read from: nothing is lost
	}
	s.encoder.close()
}

func (s *encodedSource) next() (*rowBatch, error) {
	b, rows := &rowBatch{}, []encodedRow(nil)
	for len(rows) < s.encoder.batch() {
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
		b.ids, rows = append(b.ids, row.id), append(rows, row)
	}
	b.features = make([]float32, len(rows)*s.encoder.info().Dim)
	if err := s.encoder.encode(s.ctx, b.features, rows); err != nil {
		return nil, s.bad(err, rows)
	}
	return b.orEnd(s.file, s.seen)
}

// bad says where in the file an error about rows belongs.
func (s *encodedSource) bad(err error, rows []encodedRow) error {
	var row *rowError
	if errors.As(err, &row) {
		return badRows(&costs.DataError{File: s.file, Row: rows[row.row].line, Column: s.encoder.field(), Err: row.err})
	}
	return fmt.Errorf("rows %d to %d of %s: %w", s.seen-len(rows)+1, s.seen, s.file, err)
}

func badRows(e *costs.DataError) error { return fmt.Errorf("read rows: %w", e) }

// jsonField reads one object per line: {"id": 7, "claim": "..."} for the field claim. Other fields are passed over.
func jsonField(file string, r *bufio.Reader, field string) func() (encodedRow, error) {
	lines := &jsonlSource{file: file, lines: costs.NewLines(file, r)}
	return func() (encodedRow, error) {
		line, err := lines.readLine()
		if err != nil {
			return encodedRow{}, err
		}
		var row map[string]json.RawMessage
		if err := json.Unmarshal(line, &row); err != nil {
			return encodedRow{}, lines.bad("", "%v", err)
		}
		var value *string
		if raw, ok := row[field]; !ok || json.Unmarshal(raw, &value) != nil || value == nil {
			return encodedRow{}, lines.bad(field, "is not there, or is not text")
		}
		id, err := lines.name(row["id"])
		lines.seen++
		return encodedRow{id, *value, lines.lines.Number()}, err
	}
}

// csvField reads a table with a header; column is the one that is encoded, id that of the ids, if there is one.
func csvField(file string, r *bufio.Reader, column string) (func() (encodedRow, error), error) {
	rows := &csvSource{file: file, csv: csv.NewReader(r)}
	header, err := rows.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, badFeatures(&costs.DataError{File: file, Msg: "is empty; a header line with the column names is expected"})
	}
	if err != nil {
		return nil, rows.bad(err)
	}
	at, idAt := slices.Index(header, column), slices.Index(header, "id")
	if at < 0 {
		return nil, badFeatures(&costs.DataError{File: file, Row: 1, Column: column, Msg: "is not there; the columns are " + strings.Join(header, ", ")})
	}
	return func() (row encodedRow, err error) {
		record, err := rows.csv.Read()
		if errors.Is(err, io.EOF) {
			return row, err
		}
		if err != nil {
			return row, rows.bad(err)
		}
		row.value = record[at]
		row.line, _ = rows.csv.FieldPos(at)
		if idAt >= 0 {
			row.id = record[idAt]
		}
		return row, nil
	}, nil
}
