package monitor

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/internal/storage"
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

// aheadReader reads rows of a tensor in batches. It reads the first batch early, to find out whether rows have times.
type aheadReader struct {
	reader  *costs.Reader
	first   *costs.Tensor
	hasTime bool
	seen    int // rows that were read
}

// begin reads the first batch.
func (a *aheadReader) begin() (err error) {
	if a.first, err = a.reader.Next(); err == nil {
		a.hasTime = a.first.Times != nil
	}
	return err
}

func (a *aheadReader) rows() int64 { return int64(a.reader.Rows()) }
func (a *aheadReader) timed() bool { return a.hasTime }

// batch returns the next batch as rows of a log; io.EOF after the last one.
func (a *aheadReader) batch(ctx context.Context) (*logRows, *costs.Tensor, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	t := a.first
	if a.first = nil; t == nil {
		var err error
		if t, err = a.reader.Next(); err != nil {
			return nil, nil, err
		}
	}
	n, done := len(t.Features)/t.Dim, a.seen
	a.seen += n
	return &logRows{n: n, features: t.Features, times: t.Times, place: func(i int) int { return done + i + 1 }}, t, nil
}

// tensorLog reads a cost tensor. It has the outcomes of all pairs, some of which may be unknown.
type tensorLog struct{ aheadReader }

func openTensor(ctx context.Context, path storage.Location, info *policy.Info) (logSource, error) {
	r, err := costs.OpenReader(ctx, path, costs.ReadOptions{Unknown: true, BatchRows: batchRows(info.Dim)})
	if err != nil {
		return nil, err
	}
	s := &tensorLog{aheadReader{reader: r}}
	if err = checkFeatures(path.String(), r, info); err == nil {
		err = s.begin()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return s, nil
}

func (s *tensorLog) close() { s.reader.Close() }

func (s *tensorLog) next(ctx context.Context) (*logRows, error) {
	r, t, err := s.batch(ctx)
	if err != nil {
		return nil, err
	}
	r.tensor = t
	return r, nil
}

// parquetLog reads the features of a Parquet file, and its executed pairs and outcomes.
type parquetLog struct {
	aheadReader
	table *tablefile.Table
	pair  *pairColumns
	cells []tablefile.Cell
}

func openParquetLog(ctx context.Context, path storage.Location, table *tablefile.Table, pair *pairColumns, info *policy.Info) (_ logSource, err error) {
	s := &parquetLog{table: table, pair: pair, cells: make([]tablefile.Cell, len(pair.names))}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.reader, err = costs.OpenReader(ctx, path, costs.ReadOptions{FeaturesOnly: true, Times: true, BatchRows: batchRows(info.Dim)}); err != nil {
		return nil, err
	}
	if err = checkFeatures(path.String(), s.reader, info); err != nil {
		return nil, err
	}
	if len(pair.names) > 0 {
		if err = table.Choose(pair.names); err != nil {
			return nil, err
		}
	}
	return s, s.begin()
}

func (s *parquetLog) close() {
	s.table.Close()
	if s.reader != nil {
		s.reader.Close()
	}
}

func (s *parquetLog) next(ctx context.Context) (*logRows, error) {
	r, _, err := s.batch(ctx)
	if err != nil {
		return nil, err
	}
	if len(s.pair.names) == 0 {
		return r, nil
	}
	return r, r.readPairs(s.table, s.pair, s.cells)
}

// readPairs reads the other columns of the rows.
func (r *logRows) readPairs(table *tablefile.Table, pair *pairColumns, cells []tablefile.Cell) error {
	r.loss, r.fee = make([]float64, r.n), make([]float64, r.n)
	if pair.pair {
		r.executed = make([]int, r.n)
	}
	for i := range r.n {
		row, err := table.Next(cells)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		executed, loss, paid, err := pair.read(cells, row)
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
		r.loss[i], r.fee[i] = loss, paid
		if pair.pair {
			r.executed[i] = executed
		}
	}
	return nil
}
