package monitor

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/models/policy"
)

// batchRows is the most rows that are read and decided at once.
func batchRows(dim int) int { return max(1, min(8192, (1<<22)/max(1, dim))) }

// checkFeatures compares the width and, if the file has actions, the actions and the origin of the features.
func checkFeatures(path string, r *costs.Reader, info *policy.Info) error {
	if r.Dim() != info.Dim {
		return &costs.DataError{File: path, Column: colFeatures, Msg: fmt.Sprintf("has %d features, the policy takes %d", r.Dim(), info.Dim)}
	}
	if r.Actions() == nil {
		return nil
	}
	if err := info.Matches(&costs.Tensor{Actions: r.Actions(), Dim: r.Dim()}); err != nil {
		return &costs.DataError{File: path, Err: err}
	}
	return nil
}

// tensorLog reads a cost tensor: the outcome of whatever pair the policy decides is known, or is unknown.
type tensorLog struct {
	reader  *costs.Reader
	hasTime bool
	first   *costs.Tensor // read ahead, to see whether there are times
	seen    int
}

func openTensor(path string, info *policy.Info) (logSource, error) {
	r, err := costs.OpenReader(path, costs.ReadOptions{Unknown: true, BatchRows: batchRows(info.Dim)})
	if err != nil {
		return nil, err
	}
	s := &tensorLog{reader: r}
	if err = checkFeatures(path, r, info); err == nil {
		s.first, err = r.Next()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	s.hasTime = s.first.Times != nil
	return s, nil
}

func (s *tensorLog) rows() int64 { return int64(s.reader.Rows()) }
func (s *tensorLog) timed() bool { return s.hasTime }
func (s *tensorLog) close()      { s.reader.Close() }

func (s *tensorLog) next(ctx context.Context) (*logRows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := s.first
	if s.first = nil; t == nil {
		var err error
		if t, err = s.reader.Next(); err != nil {
			return nil, err
		}
	}
	done := s.seen
	s.seen += t.Len()
	return &logRows{n: t.Len(), features: t.Features, times: t.Times, tensor: t, place: func(i int) int { return done + i + 1 }}, nil
}

// parquetLog reads the features of a Parquet file, and beside them what was executed and what came of it.
type parquetLog struct {
	reader  *costs.Reader
	table   *tablefile.Table
	pair    *pairColumns
	cells   []tablefile.Cell
	first   *costs.Tensor // read ahead
	hasTime bool
	seen    int
}

func openParquetLog(path string, table *tablefile.Table, pair *pairColumns, info *policy.Info) (_ logSource, err error) {
	s := &parquetLog{table: table, pair: pair, cells: make([]tablefile.Cell, len(pair.names))}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.reader, err = costs.OpenReader(path, costs.ReadOptions{FeaturesOnly: true, Times: true, BatchRows: batchRows(info.Dim)}); err != nil {
		return nil, err
	}
	if err = checkFeatures(path, s.reader, info); err != nil {
		return nil, err
	}
	if len(pair.names) > 0 {
		if err = table.Choose(pair.names); err != nil {
			return nil, err
		}
	}
	if s.first, err = s.reader.Next(); err != nil {
		return nil, err
	}
	s.hasTime = s.first.Times != nil
	return s, nil
}

func (s *parquetLog) rows() int64 { return int64(s.reader.Rows()) }
func (s *parquetLog) timed() bool { return s.hasTime }

func (s *parquetLog) close() {
	s.table.Close()
	if s.reader != nil {
		s.reader.Close()
	}
}

func (s *parquetLog) next(ctx context.Context) (*logRows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := s.first
	if s.first = nil; t == nil {
		var err error
		if t, err = s.reader.Next(); err != nil {
			return nil, err
		}
	}
	n, done := len(t.Features)/t.Dim, s.seen
	s.seen += n
	r := &logRows{n: n, features: t.Features, times: t.Times, place: func(i int) int { return done + i + 1 }}
	if len(s.pair.names) == 0 {
		return r, nil
	}
	return r, r.readPairs(s.table, s.pair, s.cells)
}

// readPairs reads the other columns of the rows.
func (r *logRows) readPairs(table *tablefile.Table, pair *pairColumns, cells []tablefile.Cell) error {
	r.loss = make([]float64, r.n)
	if pair.pair {
		r.executed = make([]int, r.n)
	}
	for i := range r.n {
		row, err := table.Next(cells)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		executed, loss, err := pair.read(cells, row)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		r.loss[i] = loss
		if pair.pair {
			r.executed[i] = executed
		}
	}
	return nil
}
