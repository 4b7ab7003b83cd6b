package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
	"pipe/models/policy"
)

// textLog reads CSV, TSV or JSON lines, and any table of raw rows. The features are computed from raw columns, or are lists in
// a column features, or columns with the names that the policy knows, or else all columns that are not columns of a log.
type textLog struct {
	path  string
	table *tablefile.Table
	pair  *pairColumns
	cells []tablefile.Cell
	time  int      // among the cells; -1: none
	first int      // cell of the first feature
	names []string // of the columns with features
	list  bool
	raw   *rawColumns // nil: the table has features
	dim   int
	seen  int
}

func openTextLog(path string, table *tablefile.Table, pair *pairColumns, info *policy.Info, raw *rawColumns) (logSource, error) {
	s := &textLog{path: path, table: table, pair: pair, time: -1, dim: info.Dim, raw: raw}
	have, chosen := table.Names(), slices.Clone(pair.names)
	if slices.Contains(have, colTime) {
		s.time = len(chosen)
		chosen = append(chosen, colTime)
	}
	s.first = len(chosen)
	var err error
	if s.names, err = s.features(have, info); err == nil {
		chosen = append(chosen, s.names...)
		s.cells = make([]tablefile.Cell, len(chosen))
		err = table.Choose(chosen)
	}
	if err != nil {
		table.Close()
		return nil, err
	}
	return s, nil
}

// features are the columns that have the features.
func (s *textLog) features(have []string, info *policy.Info) ([]string, error) {
	if s.raw != nil {
		return s.raw.choose(s.path, have)
	}
	if slices.Contains(have, colFeatures) && !slices.Contains(info.Names, colFeatures) {
		s.list = true
		return []string{colFeatures}, nil
	}
	if names := info.Names; len(names) > 0 && !repeats(names) {
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(have, name) })
		if len(missing) > 0 {
			return nil, &costs.DataError{File: s.path, Row: 1, Column: missing[0], Msg: "is missing; the policy's features that the file lacks: " + textfile.Listed(missing, 12)}
		}
		return names, nil
	}
	other := slices.DeleteFunc(slices.Clone(have), func(name string) bool { return slices.Contains(notFeatures, name) })
	if len(other) != info.Dim {
		return nil, &costs.DataError{File: s.path, Row: 1, Msg: fmt.Sprintf("has %d feature columns, the policy takes %d and has no names for them: %s",
			len(other), info.Dim, textfile.Listed(other, 12))}
	}
	return other, nil
}

func repeats(names []string) bool {
	sorted := slices.Sorted(slices.Values(names))
	return len(slices.Compact(sorted)) < len(names)
}

func (s *textLog) rows() int64 { return -1 }
func (s *textLog) timed() bool { return s.time >= 0 }
func (s *textLog) close()      { s.table.Close() }

func (s *textLog) next(ctx context.Context) (*logRows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &logRows{}
	var places []int
	var values [][]string // of raw columns
	r.place = func(i int) int { return places[i] }
	for r.n < batchRows(s.dim) {
		row, err := s.table.Next(s.cells)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = s.add(r, row)
		}
		if err == nil && s.raw != nil {
			values, err = s.addRaw(values, row)
		}
		if err != nil {
			return nil, fmt.Errorf("read rows: %w", err)
		}
		places = append(places, row)
		r.n++
	}
	s.seen += r.n
	switch {
	case s.seen == 0:
		return nil, fmt.Errorf("read rows: %w", &costs.DataError{File: s.path, Msg: "has no rows"})
	case r.n == 0:
		return nil, io.EOF
	case s.raw == nil:
		return r, nil
	}
	return r, s.encode(ctx, r, values)
}

// addRaw appends the raw columns of the row in the cells.
func (s *textLog) addRaw(values [][]string, row int) ([][]string, error) {
	list := make([]string, len(s.names))
	for i, c := range s.cells[s.first:] {
		if s.raw.field != "" && c.Missing() {
			return nil, s.pair.bad(row, s.raw.field, errors.New("is missing"))
		}
		list[i] = strings.Clone(c.String())
	}
	return append(values, list), nil
}

// encode computes the features of raw rows.
func (s *textLog) encode(ctx context.Context, r *logRows, values [][]string) (err error) {
	r.features, err = s.raw.encode(ctx, s.names, values)
	if bad, ok := errors.AsType[*policy.RowError](err); ok {
		err = &costs.DataError{File: s.path, Row: r.place(bad.Row), Err: bad.Err}
	}
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	return nil
}

// add adds the row in the cells.
func (s *textLog) add(r *logRows, row int) error {
	executed, loss, paid, err := s.pair.read(s.cells, row)
	if err != nil {
		return err
	}
	if s.pair.pair {
		r.executed = append(r.executed, executed)
	}
	if len(s.pair.names) > 0 {
		r.loss, r.fee = append(r.loss, loss), append(r.fee, paid)
	}
	if s.time >= 0 {
		at, err := costs.ParseTime(s.cells[s.time].String())
		if err != nil {
			return s.pair.bad(row, colTime, err)
		}
		r.times = append(r.times, at)
	}
	switch {
	case s.raw != nil:
		return nil
	case s.list:
		return s.addList(r, row)
	}
	for i, c := range s.cells[s.first:] {
		v, err := c.Float()
		if err != nil {
			return s.pair.bad(row, s.names[i], err)
		}
		r.features = append(r.features, float32(v))
	}
	return nil
}

func (s *textLog) addList(r *logRows, row int) error {
	list, err := s.cells[s.first].Floats()
	if err == nil && len(list) != s.dim {
		err = fmt.Errorf("has %d features, the policy takes %d", len(list), s.dim)
	}
	if err != nil {
		return s.pair.bad(row, colFeatures, err)
	}
	r.features = append(r.features, list...)
	return nil
}
