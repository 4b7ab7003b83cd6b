package featurize

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/parquet-go/parquet-go"
)

// TableReader reads a table file. Ids, splits, labels and the encoder are kept
// in memory; values are decoded by row group as they are asked for, of which
// the last few stay. It is safe for concurrent use.
type TableReader struct {
	path    string
	encoder *TabularEncoder
	ids     []string
	splits  []string
	labels  []string

	lock   sync.RWMutex // held for reading during Read, for writing by Close
	file   *os.File     // nil once closed
	groups []*tableGroup
	first  []int // first row of each group, and the number of rows at the end
	leaves []int // column of the file by column of the encoder
	recent recentGroups
}

var errTruncated = errors.New("is no Parquet file, or a truncated one")

// ErrNoTable is in the errors of OpenTable about a file that says itself that it is something else.
var ErrNoTable = errors.New("it is no table of values")

// OpenTable opens a file of WriteTable, or one that another program has made
// of such a file: then columns may be of doubles or have nulls, which are gaps.
// Content that is no such table gives a *DataError.
func OpenTable(path string) (*TableReader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open table: %w", err)
	}
	t := &TableReader{path: path, file: file}
	if err := t.guarded(t.open); err != nil {
		file.Close()
		return nil, fmt.Errorf("open table: %w", err)
	}
	return t, nil
}

// guarded names the file in errors about its content, and makes errors of the
// panics that the Parquet library has for some damaged files.
func (t *TableReader) guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &DataError{File: t.path, Msg: fmt.Sprintf("cannot be read, the file is damaged: %v", r)}
		}
	}()
	err = f()
	var data *DataError
	if errors.As(err, &data) && data.File == "" {
		data.File = t.path
	}
	return err
}

func (t *TableReader) open() error {
	info, err := t.file.Stat()
	if err != nil {
		return err
	}
	if err := t.checkFooter(info.Size()); err != nil {
		return err
	}
	pf, err := parquet.OpenFile(t.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return &DataError{Msg: errTruncated.Error(), Err: err}
	}
	text, ok := pf.Lookup(EncoderKey)
	if !ok {
		return &DataError{Msg: fmt.Sprintf("metadata have no %q", EncoderKey), Err: ErrNoTable}
	}
	if t.encoder, err = ParseTabularEncoder([]byte(text)); err != nil {
		return &DataError{Msg: "metadata " + EncoderKey, Err: err}
	}
	if err := t.findColumns(pf.Root()); err != nil {
		return err
	}
	return t.findRows(pf, info.Size())
}

// checkFooter compares the length of the footer, which the file tells before
// its last four bytes, with the file: the library would set aside whatever a
// damaged length asks for.
func (t *TableReader) checkFooter(size int64) error {
	var tail [8]byte
	if size < int64(len(tail)) {
		return &DataError{Msg: errTruncated.Error()}
	}
	if _, err := t.file.ReadAt(tail[:], size-int64(len(tail))); err != nil {
		return err
	}
	if int64(binary.LittleEndian.Uint32(tail[:4])) > size-int64(len(tail)) {
		return &DataError{Msg: errTruncated.Error()}
	}
	return nil
}

// findColumns looks up the columns by name.
func (t *TableReader) findColumns(root *parquet.Column) error {
	for _, name := range tableColumns {
		if _, err := findColumn(root, name, parquet.ByteArray); err != nil {
			return err
		}
	}
	for _, c := range t.encoder.fitted.Columns {
		leaf, err := findColumn(root, c.Name, parquet.Float, parquet.Double)
		if err != nil {
			return err
		}
		t.leaves = append(t.leaves, leaf)
	}
	return nil
}

// findColumn returns the index of a top-level column of one of the kinds.
func findColumn(root *parquet.Column, name string, kinds ...parquet.Kind) (int, error) {
	c := root.Column(name)
	if c == nil {
		return 0, &DataError{Column: name, Msg: "is missing"}
	}
	if !c.Leaf() || c.Repeated() {
		return 0, &DataError{Column: name, Msg: "is no column of single values"}
	}
	for _, k := range kinds {
		if c.Type().Kind() == k {
			return c.Index(), nil
		}
	}
	return 0, &DataError{Column: name, Msg: fmt.Sprintf("has values of type %v, expected %v", c.Type().Kind(), kinds[0])}
}

// findRows reads ids, splits and labels. They are counted as they come, so
// that nothing else has to trust the numbers in the metadata.
func (t *TableReader) findRows(pf *parquet.File, size int64) error {
	text := [][]string{nil, nil, nil}
	for _, g := range pf.RowGroups() {
		first, claimed := len(text[0]), g.NumRows()
		if claimed < 0 || claimed > 1<<20+64*size {
			return &DataError{Msg: fmt.Sprintf("the file is damaged: a row group of %d rows", claimed)}
		}
		for i, name := range tableColumns {
			leaf, _ := findColumn(pf.Root(), name, parquet.ByteArray)
			var err error
			if text[i], err = appendText(text[i], g.ColumnChunks()[leaf], name); err != nil {
				return err
			}
			if n := len(text[i]) - first; int64(n) != claimed {
				return &DataError{Column: name, Msg: fmt.Sprintf("the file is damaged: %d values in a row group of %d rows", n, claimed)}
			}
		}
		if claimed > 0 {
			t.groups = append(t.groups, &tableGroup{chunks: g.ColumnChunks(), rows: int(claimed)})
			t.first = append(t.first, first)
		}
	}
	t.ids, t.splits, t.labels = text[0], text[1], text[2]
	t.first = append(t.first, len(t.ids))
	return t.checkIDs()
}

func (t *TableReader) checkIDs() error {
	if len(t.ids) == 0 {
		return &DataError{Msg: "has no rows"}
	}
	at := make(map[string]int, len(t.ids))
	for n, id := range t.ids {
		if id == "" {
			return &DataError{Row: n + 1, Column: columnID, Msg: `"" is no id`}
		}
		if first, twice := at[id]; twice {
			return &DataError{Row: n + 1, Column: columnID, Msg: fmt.Sprintf("%q is in row %d already", id, first+1)}
		}
		at[id] = n
	}
	return nil
}

// Encoder returns the encoder that made the values.
func (t *TableReader) Encoder() *TabularEncoder { return t.encoder }

// Len returns the number of rows.
func (t *TableReader) Len() int { return len(t.ids) }

// IDs returns the id of each row. The slice belongs to the reader.
func (t *TableReader) IDs() []string { return t.ids }

// Labels returns the name of the label of each row, "" where it is unknown.
// The slice belongs to the reader.
func (t *TableReader) Labels() []string { return t.labels }

// Splits returns the name of the split of each row. The slice belongs to the
// reader.
func (t *TableReader) Splits() []string { return t.splits }

// Read writes the values of rows [from, from+n) to dst, n x columns of the
// encoder.
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

// Close closes the file once no Read is under way; later ones are refused. A
// second Close does nothing.
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
