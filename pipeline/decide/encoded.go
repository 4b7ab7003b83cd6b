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
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// encodedSource reads raw rows, CSV with a header or JSONL, and makes of one field of each what the policy was trained on.
type encodedSource struct {
	ctx     context.Context
	file    string
	in      io.Closer
	encoder rowEncoder
	read    func() (encodedRow, error) // the next row
	most    int                        // most rows of a batch
	seen    int
}

// openEncoded opens raw rows for a policy.
func openEncoded(ctx context.Context, rt *ort.Runtime, o StreamOptions, stdin io.Reader, policy *PolicyFile, done *Summary) (featureSource, error) {
	e, err := openRowEncoder(rt, o, policy.Encoder, done)
	if err != nil {
		return nil, err
	}
	if was := policy.Info.Actions.Digests[costs.DecoderDigest]; was != "" && done.Decoder != "" && was != done.Decoder {
		done.Trained = was
	}
	s := &encodedSource{ctx: ctx, encoder: e, most: min(e.batch(), batchRows(e.info().Dim, policy.Info.Actions.Len()))}
	if err := s.open(o, stdin, policy.Info); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// open holds the policy against the encoder before the file is touched.
func (s *encodedSource) open(o StreamOptions, stdin io.Reader, about *policy.Info) error {
	if err := FitsEncoder(about, s.encoder.info()); err != nil {
		return &stage.OptionError{Err: fmt.Errorf("policy %q: %w", o.Policy, err)}
	}
	var r *bufio.Reader
	var err error
	if s.file, s.in, r, err = openRawText(s.ctx, o.In, stdin); err != nil {
		return err
	}
	return s.start(r, o)
}

// start chooses the reader of rows by format, name or first bytes.
func (s *encodedSource) start(r *bufio.Reader, o StreamOptions) (err error) {
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
	for len(rows) < s.most {
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
	lines := &jsonlSource{file: file, lines: textfile.NewLines(file, r)}
	return func() (encodedRow, error) {
		row, err := lines.readObject()
		if err != nil {
			return encodedRow{}, err
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
	rows, err := textfile.NewCSV(file, r, ',')
	if err != nil {
		return nil, badText("rows", file, err)
	}
	header := rows.Header()
	at, idAt := slices.Index(header, column), slices.Index(header, "id")
	if at < 0 {
		return nil, badFeatures(&costs.DataError{File: file, Row: 1, Column: column, Msg: "is not there; the columns are " + textfile.Listed(header, 12)})
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
