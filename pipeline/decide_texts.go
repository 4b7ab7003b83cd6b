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
	"pipe/featurize"
	"pipe/models"
	"pipe/onnx/ort"
)

// textSource reads rows with a text, CSV with a header or JSONL, and makes of every text what the policy was trained on.
type textSource struct {
	file    string
	in      io.Closer
	encoder *featurize.TextEncoder
	read    func() (id, text string, err error) // the next row; id "" if it has none
	encode  func(dst []float32, texts []string) error
	seen    int
}

// openTexts opens texts for a policy.
func openTexts(ctx context.Context, rt *ort.Runtime, o DecideOptions, stdin io.Reader, policy *models.PolicyInfo) (_ *textSource, err error) {
	settings := featurize.DefaultTextEncoderOptions()
	settings.Workers = o.Workers
	e, err := featurize.OpenTextEncoder(rt, o.Encoder, settings)
	if err != nil {
		return nil, err
	}
	s := &textSource{encoder: e}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if err := fitsEncoder(policy, e.Dim(), e.Digest()); err != nil {
		return nil, &OptionError{fmt.Errorf("policy %q: %w", o.Policy, err)}
	}
	s.encode = func(dst []float32, texts []string) error { return e.Encode(ctx, dst, texts) }
	var r *bufio.Reader
	if s.file, s.in, r, err = openRawText(ctx, o.In, stdin); err != nil {
		return nil, err
	}
	return s, s.start(r, o)
}

// start chooses the reader of rows by format, name or first bytes.
func (s *textSource) start(r *bufio.Reader, o DecideOptions) error {
	format := o.InFormat
	if format == formatAuto && o.In != "-" {
		format = formatOf(o.In)
	}
	if format == formatAuto {
		format = sniff(r)
	}
	switch format {
	case formatJSONL:
		s.read = jsonTexts(s.file, r, o.Text)
		return nil
	case formatCSV:
		var err error
		s.read, err = csvTexts(s.file, r, o.Text)
		return err
	}
	return &costs.DataError{File: s.file, Msg: "is Parquet; texts come as CSV or JSONL"}
}

func (s *textSource) rows() int64 { return -1 }

func (s *textSource) close() {
	if s.in != nil {
		_ = s.in.Close() // only read from: nothing is lost
	}
	_ = s.encoder.Close()
}

func (s *textSource) next() (*rowBatch, error) {
	b, texts := &rowBatch{}, []string(nil)
	for len(texts) < textBatch {
		id, text, err := s.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if id == "" {
			id = strconv.Itoa(s.seen)
		}
		s.seen++
		b.ids, texts = append(b.ids, id), append(texts, text)
	}
	b.features = make([]float32, len(texts)*s.encoder.Dim())
	if err := s.encode(b.features, texts); err != nil {
		return nil, fmt.Errorf("rows %d to %d of %s: %w", s.seen-len(texts)+1, s.seen, s.file, err)
	}
	return b.orEnd(s.file, s.seen)
}

// jsonTexts reads one object per line: {"id": 7, "claim": "..."} for the field claim. Other fields are passed over.
func jsonTexts(file string, r *bufio.Reader, field string) func() (id, text string, err error) {
	lines := &jsonlSource{file: file, lines: costs.NewLines(file, r)}
	return func() (id, text string, err error) {
		line, err := lines.readLine()
		if err != nil {
			return "", "", err
		}
		var row map[string]json.RawMessage
		if err := json.Unmarshal(line, &row); err != nil {
			return "", "", lines.bad("", "%v", err)
		}
		var value *string
		if raw, ok := row[field]; !ok || json.Unmarshal(raw, &value) != nil || value == nil {
			return "", "", lines.bad(field, "is not there, or is not text")
		}
		if id, err = lines.name(row["id"]); err != nil {
			return "", "", err
		}
		lines.seen++
		return id, *value, nil
	}
}

// csvTexts reads a table with a header; column is the one with the texts, id that of the ids, if there is one.
func csvTexts(file string, r *bufio.Reader, column string) (func() (id, text string, err error), error) {
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
	return func() (id, text string, err error) {
		record, err := rows.csv.Read()
		if errors.Is(err, io.EOF) {
			return "", "", err
		}
		if err != nil {
			return "", "", rows.bad(err)
		}
		if idAt >= 0 {
			id = record[idAt]
		}
		return id, record[at], nil
	}, nil
}
