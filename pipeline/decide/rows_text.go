package decide

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/internal/hint"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/models/policy"
)

const (
	mostRows   = 4096    // of a batch
	mostValues = 1 << 22 // features and scores of a batch of more than one row: several batches are in memory at once
)

// batchRows is the number of rows in a batch, for dim features and one score per action.
func batchRows(dim, actions int) int { return max(1, min(mostRows, mostValues/max(1, dim+actions))) }

// batchOf returns an empty batch for rows of dim features, and its capacity in rows.
func batchOf(dim, actions int) (b *rowBatch, rows int) {
	rows = batchRows(dim, actions)
	return &rowBatch{features: make([]float32, 0, rows*dim)}, rows
}

// csvSource reads a table with a header: an optional column id (without it, rows are numbered from 0) and the features.
// They are matched by name if the policy has feature names, else taken in order.
type csvSource struct {
	csvFile
	file   string
	header []string
	id     int   // column of the id, -1 if there is none
	to     []int // per column: the feature that it holds
	dim    int
	scores int // of a row: the policy's actions
}

// csvFile is what sources of rows in a CSV file have in common.
type csvFile struct {
	in   io.Closer
	csv  *textfile.CSV
	seen int // rows that were read
}

func (s *csvFile) rows() int64 { return -1 }
func (s *csvFile) close()      { _ = s.in.Close() } // only read from: nothing is lost

func (s *csvFile) move(in io.Reader, at textfile.Place) {
	s.csv, s.seen = s.csv.At(in, int(at.Line)), int(at.Row)
}

func newCSVSource(file string, in io.Closer, r io.Reader, info *policy.Info) (*csvSource, error) {
	text, err := textfile.NewCSV(file, r, ',')
	if err != nil {
		return nil, badText("features", file, err)
	}
	header := text.Header()
	s := &csvSource{csvFile: csvFile{in: in, csv: text}, file: file, header: header, id: -1, dim: info.Dim, scores: info.Actions.Len()}
	seen := make(map[string]bool, len(header))
	for c, name := range header {
		if seen[name] {
			return nil, badFeatures(&costs.DataError{File: file, Row: 1, Column: name, Msg: "is a duplicate"})
		}
		seen[name] = true
		if name == "id" {
			s.id = c
		}
	}
	features := len(header)
	if s.id >= 0 {
		features--
	}
	if features != s.dim {
		return nil, computed(info.Names, badFeatures(&costs.DataError{
			File: file, Row: 1,
			Msg: fmt.Sprintf("has %d feature columns (every column but id), the policy takes %d", features, s.dim) + keep(info.Names),
		}))
	}
	s.to, err = featurePlaces(file, header, s.id, info.Names)
	return s, err
}

// computed adds a hint to an error about columns if an import made some of them from other columns.
func computed(names []string, err error) error {
	for _, name := range names {
		column, of := strings.CutPrefix(name, costs.LengthOf)
		value := "the number of characters of " + column
		if !of {
			column, _, of = strings.Cut(name, "=")
			value = "1 or 0, by the column " + column
		}
		if of {
			return hint.With(err, fmt.Sprintf("pipe import made %s: write it as a column, %s", textfile.Quoted(name), value))
		}
	}
	return err
}

// keep says which columns a policy takes, if their names are known.
func keep(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": keep id and " + textfile.Listed(names, 12)
}

func (s *csvSource) next(ctx context.Context) (*rowBatch, error) {
	b, rows := batchOf(s.dim, s.scores)
	for len(b.ids) < rows {
		record, err := s.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badText("features", s.file, err)
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
	at := len(b.features)
	b.features = slices.Grow(b.features, s.dim)[:at+s.dim]
	for c, cell := range record {
		if c == s.id {
			id = cell
			continue
		}
		v, err := textfile.ParseFloat32(cell)
		if err != nil {
			return badFeatures(&costs.DataError{File: s.file, Row: s.csv.Line(c), Column: s.header[c], Msg: fmt.Sprintf("%q is not a finite number", textfile.Short(cell))})
		}
		b.features[at+s.to[c]] = v
	}
	b.ids = append(b.ids, string([]byte(id))) // a copy, because the record's memory is reused
	return nil
}

// jsonlSource reads one object per line: {"id": "a", "features": [0.1, 2]}. Other fields are ignored; without ids, rows
// are numbered from 0.
type jsonlSource struct {
	file   string
	in     io.Closer
	lines  *textfile.Lines
	dim    int
	scores int // of a row: the policy's actions
	seen   int
}

func (s *jsonlSource) rows() int64 { return -1 }
func (s *jsonlSource) close()      { _ = s.in.Close() } // only read from: nothing is lost

func (s *jsonlSource) move(in io.Reader, at textfile.Place) {
	s.lines, s.seen = textfile.NewLinesAt(s.file, in, int(at.Line)), int(at.Row)
}

func (s *jsonlSource) next(ctx context.Context) (*rowBatch, error) {
	b, rows := batchOf(s.dim, s.scores)
	for len(b.ids) < rows {
		row, err := s.readObject()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := s.add(b, row); err != nil {
			return nil, err
		}
	}
	return b.orEnd(s.file, s.seen)
}

// orEnd returns b, or the end of the input if b is empty; an input without rows is an error.
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
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return line, err
	}
	return nil, badText("features", s.file, err)
}

// readObject returns the fields of the next row.
func (s *jsonlSource) readObject() (map[string]json.RawMessage, error) {
	line, err := s.readLine()
	if err != nil {
		return nil, err
	}
	row, err := strictjson.Values(line)
	var shape *json.UnmarshalTypeError
	switch {
	case errors.As(err, &shape) && shape.Value == "array":
		return nil, s.bad("", `is a JSON list, not an object such as {"id": "a", "features": [0.1, 2]}; write one object on each line, as jq -c '.[]' does`)
	case errors.As(err, &shape):
		return nil, s.bad("", `is a JSON %s, not an object such as {"id": "a", "features": [0.1, 2]}`, shape.Value)
	case err != nil:
		return nil, s.bad("", "%v", strictjson.InLine(err))
	}
	return row, nil
}

func (s *jsonlSource) add(b *rowBatch, row map[string]json.RawMessage) error {
	before := len(b.features)
	if err := s.list(b, row["features"]); err != nil {
		return err
	}
	if n := len(b.features) - before; n != s.dim {
		return s.bad("features", "has %d features, the policy takes %d", n, s.dim)
	}
	id, err := s.name(row["id"])
	if err != nil {
		return err
	}
	b.ids = append(b.ids, id)
	s.seen++
	return nil
}

// list appends the numbers of a JSON list.
func (s *jsonlSource) list(b *rowBatch, raw json.RawMessage) error {
	if len(raw) == 0 {
		return s.bad("features", "has 0 features, the policy takes %d", s.dim)
	}
	if raw[0] != '[' {
		return s.bad("features", "is a JSON %s, not a list of numbers", jsonKind(raw))
	}
	inner := bytes.TrimSpace(raw[1 : len(raw)-1])
	for n := 0; len(inner) > 0; n++ {
		element, rest, _ := bytes.Cut(inner, []byte{','})
		text := string(bytes.TrimSpace(element))
		v, err := textfile.ParseFloat32(text)
		if err != nil {
			return s.bad(fmt.Sprintf("features[%d]", n), "%s is not a finite number", textfile.Short(text))
		}
		b.features = append(b.features, v)
		inner = rest
	}
	return nil
}

// jsonKind names the kind of a JSON value.
func jsonKind(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// name reads an id, which may be a string or a number.
func (s *jsonlSource) name(raw json.RawMessage) (string, error) {
	var text string
	var number json.Number
	if err := strictjson.Check(raw); err != nil {
		return "", s.bad("id", "%v", err)
	}
	switch {
	case len(raw) == 0:
		return strconv.Itoa(s.seen), nil
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		return text, nil
	case raw[0] != 'n' && json.Unmarshal(raw, &number) == nil:
		return number.String(), nil
	}
	return "", s.bad("id", "%s is neither a string nor a number", textfile.Short(string(raw)))
}

func (s *jsonlSource) bad(column, format string, args ...any) error {
	return badFeatures(&costs.DataError{File: s.file, Row: s.lines.Number(), Column: column, Msg: fmt.Sprintf(format, args...)})
}
