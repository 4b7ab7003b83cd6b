package decide

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/featurize/tabular"
	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// rawSource reads raw rows, as they were before pipe featurize: CSV with a header in any order. An encoder computes the
// policy's features of every row.
type rawSource struct {
	csvFile
	file    string
	encoder *tableEncoder
	columns map[string]int // by name, of those that the policy uses
	id      int            // -1 if the file has none
	values  []float32      // of one row
	record  []string       // the row being read
	scores  int            // of a row: the policy's actions
}

// openRaw opens raw rows for a policy with the given number of actions. absent are the columns that the policy uses and
// the file lacks.
func openRaw(ctx context.Context, in rowFile, e *tableEncoder, actions int) (_ featureSource, absent []string, err error) {
	s := &rawSource{encoder: e, values: make([]float32, e.width()), scores: actions}
	var r *bufio.Reader
	if s.file, s.in, r, err = openRawText(ctx, in); err != nil {
		return nil, nil, err
	}
	if absent, err = s.start(r); err != nil {
		s.close()
		return nil, nil, err
	}
	return s, absent, nil
}

// openRawText opens raw rows that are text, gzipped or not. name is their name in errors.
func openRawText(ctx context.Context, in rowFile) (name string, source io.ReadCloser, r *bufio.Reader, err error) {
	if name = in.path.String(); name == "-" {
		name, source = standardInput, interruptible(ctx, io.NopCloser(in.stdin))
	} else if source, err = openText(ctx, in.path); err != nil {
		return "", nil, nil, fmt.Errorf("read rows: %w", err)
	}
	if r, err = textfile.Decode(name, source, true); err != nil {
		source.Close()
		return "", nil, nil, fmt.Errorf("read rows: %w", dataerror.FromText(err))
	}
	return name, source, r, nil
}

// start reads the header.
func (s *rawSource) start(r io.Reader) (absent []string, err error) {
	if s.csv, err = textfile.NewCSV(s.file, r, ','); err != nil {
		return nil, badText("rows", s.file, err)
	}
	return s.match(s.csv.Header())
}

// match finds the columns that the policy uses. In names, minus and underscore are equivalent.
func (s *rawSource) match(header []string) (absent []string, err error) {
	at := map[string]int{}
	for c, name := range header {
		name = plainColumn(name)
		if _, twice := at[name]; twice {
			return nil, s.bad(1, header[c], "is a duplicate")
		}
		at[name] = c
	}
	s.id, s.columns = -1, map[string]int{}
	if c, ok := at[plainColumn(s.encoder.encoder.IDColumn())]; ok {
		s.id = c
	}
	for _, name := range s.encoder.columns {
		if i, ok := at[name]; ok {
			s.columns[name] = i
		} else {
			absent = append(absent, name)
		}
	}
	if len(s.columns) == 0 {
		return nil, s.bad(1, "", fmt.Sprintf("has none of the %d columns that the policy uses, such as %s", len(absent), absent[0]))
	}
	return absent, nil
}

func (s *rawSource) next(ctx context.Context) (*rowBatch, error) {
	dim := s.encoder.groups.Dim()
	b, rows := batchOf(dim, s.scores)
	for len(b.ids) < rows {
		var err error
		s.record, err = s.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, badText("rows", s.file, err)
		}
		if err := s.add(b, dim); err != nil {
			return nil, err
		}
	}
	return b.orEnd(s.file, s.seen)
}

func (s *rawSource) add(b *rowBatch, dim int) error {
	b.features = slices.Grow(b.features, dim)[:len(b.features)+dim]
	if err := s.encoder.encode(b.features[len(b.features)-dim:], s.values, s.cell); err != nil {
		var data *tabular.DataError
		if !errors.As(err, &data) {
			return err
		}
		return s.bad(s.csv.Line(s.columns[data.Column]), data.Column, data.Msg)
	}
	id := strconv.Itoa(s.seen)
	if s.id >= 0 {
		id = strings.Clone(s.record[s.id]) // the record's memory is reused
	}
	b.ids = append(b.ids, id)
	s.seen++
	return nil
}

// cell is the text of a column of the row being read.
func (s *rawSource) cell(column string) (string, bool) {
	i, ok := s.columns[column]
	if !ok {
		return "", false
	}
	return s.record[i], true
}

func (s *rawSource) bad(line int, column, msg string) error {
	return fmt.Errorf("read rows: %w", &costs.DataError{File: s.file, Row: line, Column: column, Msg: msg})
}

// badText turns an error of a text reader into one about rows or features; it adds the file name to read errors.
func badText(what, file string, err error) error {
	if _, ok := errors.AsType[*textfile.Error](err); ok {
		return fmt.Errorf("read %s: %w", what, dataerror.FromText(err))
	}
	return fmt.Errorf("read %s %q: %w", what, file, err)
}
