package tabular

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"pipe/internal/column"
	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
	"pipe/internal/storage"
)

// TableReader reads a table file. It keeps ids, splits, labels, groups and the encoder in memory, decodes values by row
// group on demand and keeps the most recent row groups. It is safe for concurrent use.
type TableReader struct {
	path    storage.Location
	encoder *Encoder
	ids     []string
	splits  []string
	labels  []string
	groupOf []string // nil: rows have no groups

	lock   sync.RWMutex      // held for reading during Read, for writing by Close
	file   *parquetfile.File // nil once closed
	groups []*tableGroup
	first  []int          // first row of each group, and the number of rows at the end
	leaves []*column.Leaf // columns of the file, by column of the encoder
	recent recentGroups
}

// ErrNotTable is in the errors of OpenTable for a file that lacks the metadata of a table.
var ErrNotTable = errors.New("it is not a table of values")

// OpenTable opens a file of WriteTable, or a copy that another program has
// rewritten. In the latter, columns of values may be doubles and may have
// nulls, which are missing values. Content that is not such a table gives a
// *DataError.
func OpenTable(ctx context.Context, path storage.Location) (*TableReader, error) {
	t := &TableReader{path: path}
	if err := dataerror.Guard(t.path.String(), func() error { return t.open(ctx) }); err != nil {
		if t.file != nil {
			t.file.Close()
		}
		return nil, fmt.Errorf("open table: %w", err)
	}
	return t, nil
}

func (t *TableReader) open(ctx context.Context) (err error) {
	if t.file, err = parquetfile.Open(ctx, t.path); err != nil {
		return parquetfile.InColumn("", err)
	}
	text, ok := t.file.Lookup(encoderKey)
	if !ok {
		return &DataError{Msg: fmt.Sprintf("the metadata have no %q", encoderKey), Err: ErrNotTable}
	}
	if t.encoder, err = ParseEncoder([]byte(text)); err != nil {
		return &DataError{Msg: "metadata " + encoderKey, Err: err}
	}
	if err := t.findColumns(); err != nil {
		return err
	}
	return t.findRows()
}

// findColumns looks up the columns of the values by name.
func (t *TableReader) findColumns() error {
	byName := make(map[string]*parquetfile.Column, len(t.file.Root.Children))
	for _, c := range t.file.Root.Children {
		byName[c.Name] = c
	}
	for _, c := range t.encoder.fitted.Columns {
		leaf, err := columnOf(byName[c.Name], c.Name, parquetfile.Float, parquetfile.Double)
		if err != nil {
			return err
		}
		t.leaves = append(t.leaves, leaf)
	}
	return nil
}

// columnOf checks that a top-level column, nil if it is missing, has single
// values of one of the given kinds.
func columnOf(c *parquetfile.Column, name string, kinds ...parquetfile.Kind) (*column.Leaf, error) {
	switch {
	case c == nil:
		return nil, &DataError{Column: name, Msg: "is missing"}
	case !c.Leaf():
		return nil, &DataError{Column: name, Msg: "is not a column of single values"}
	}
	leaf, _, err := c.Find(false, kinds...)
	if err != nil {
		return nil, &DataError{Column: name, Err: err}
	}
	return &column.Leaf{Column: leaf, Name: name}, nil
}

// findRows reads ids, splits and labels.
func (t *TableReader) findRows() error {
	text := [][]string{nil, nil, nil}
	kinds := [][]parquetfile.Kind{{parquetfile.ByteArray, parquetfile.Int32, parquetfile.Int64}, {parquetfile.ByteArray}, {parquetfile.ByteArray}}
	for i, name := range tableColumns {
		leaf, err := columnOf(t.file.Root.Child(name), name, kinds[i]...)
		if err != nil {
			return err
		}
		for g := range column.Groups(t.file) {
			if text[i], err = t.appendText(text[i], g, leaf); err != nil {
				return err
			}
		}
	}
	t.ids, t.splits, t.labels = text[0], text[1], text[2]
	if err := t.findGroups(); err != nil {
		return err
	}
	for g := range column.Groups(t.file) {
		if err := t.file.CheckValues(g.Rows, len(t.leaves)); err != nil {
			return &DataError{Err: err}
		}
		if g.Rows > 0 {
			t.groups = append(t.groups, &tableGroup{Group: g})
			t.first = append(t.first, g.First)
		}
	}
	t.first = append(t.first, len(t.ids))
	return t.checkIDs()
}

// findGroups reads the column of groups, if there is one. A column with that
// name that belongs to the encoder does not count.
func (t *TableReader) findGroups() error {
	top := t.file.Root.Child(columnGroup)
	if top == nil || slices.ContainsFunc(t.encoder.fitted.Columns, func(c fittedColumn) bool { return c.Name == columnGroup }) {
		return nil
	}
	leaf, err := columnOf(top, columnGroup, parquetfile.ByteArray, parquetfile.Int32, parquetfile.Int64)
	if err != nil {
		return err
	}
	t.groupOf = []string{}
	for g := range column.Groups(t.file) {
		if t.groupOf, err = t.appendText(t.groupOf, g, leaf); err != nil {
			return err
		}
	}
	if n := slices.Index(t.groupOf, ""); n >= 0 {
		return &DataError{Row: n + 1, Column: columnGroup, Msg: "is empty"}
	}
	return nil
}

func (t *TableReader) checkIDs() error {
	if len(t.ids) == 0 {
		return &DataError{Msg: "has no rows"}
	}
	at := make(map[string]int, len(t.ids))
	for n, id := range t.ids {
		if id == "" {
			return &DataError{Row: n + 1, Column: columnID, Msg: `"" is not an id`}
		}
		if first, twice := at[id]; twice {
			return &DataError{Row: n + 1, Column: columnID, Msg: fmt.Sprintf("%q is a duplicate of row %d", id, first+1)}
		}
		at[id] = n
	}
	return nil
}

// Encoder returns the encoder that made the values.
func (t *TableReader) Encoder() *Encoder { return t.encoder }

// Len returns the number of rows.
func (t *TableReader) Len() int { return len(t.ids) }

// IDs returns the id of each row. The slice belongs to the reader.
func (t *TableReader) IDs() []string { return t.ids }

// Labels returns the name of the label of each row, "" if it is unknown. The
// slice belongs to the reader.
func (t *TableReader) Labels() []string { return t.labels }

// Groups returns the group of each row, nil if rows have none. The slice belongs
// to the reader.
func (t *TableReader) Groups() []string { return t.groupOf }

// Splits returns the name of the split of each row. The slice belongs to the
// reader.
func (t *TableReader) Splits() []string { return t.splits }

// Read writes the values of rows [from, from+n) to dst, which must have n
// elements per column of the encoder.
func (t *TableReader) Read(ctx context.Context, dst []float32, from, n int) error {
	columns := len(t.leaves)
	if from < 0 || n < 0 || from+n > t.Len() || len(dst) != n*columns {
		return fmt.Errorf("read table %q: rows %d to %d of %d into %d elements", t.path, from, from+n, t.Len(), len(dst))
	}
	t.lock.RLock()
	defer t.lock.RUnlock()
	if t.file == nil {
		return fmt.Errorf("read table %q: %w", t.path, os.ErrClosed)
	}
	for g := range t.groups {
		first, last := max(from, t.first[g]), min(from+n, t.first[g+1])
		if first >= last {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		values, err := t.groupValues(g)
		if err != nil {
			return fmt.Errorf("read table: %w", err)
		}
		copy(dst[(first-from)*columns:], values[(first-t.first[g])*columns:(last-t.first[g])*columns])
	}
	return nil
}

// Close waits for running calls of Read and closes the file; later calls of
// Read fail. A second Close does nothing.
func (t *TableReader) Close() error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	t.recent.drop()
	return err
}
