package tablefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"pipe/internal/dataerror"
	"pipe/internal/outside"
	"pipe/internal/parquetfile"
	"pipe/internal/storage"
)

// parquetTable reads chosen columns of a Parquet file or a folder of parts.
type parquetTable struct {
	ctx     context.Context // of Open, for the files that are opened later
	files   []storage.Location
	file    *parquetfile.File
	opened  int // files opened so far
	group   int // next row group of the open file
	end     int // row groups of the open file that are read
	names   []string
	chosen  []string
	times   []string // of these, columns that may be timestamps or dates
	streams []stream // of the chosen columns; nil before the first row group of the file
	row     int      // rows read of the open file
	left    int      // rows left in the open row group
	batch   Batch
}

// openParquetTable opens a file; part are the row groups that are read, nil for all.
func openParquetTable(ctx context.Context, path storage.Location, part *[2]int) (*parquetTable, error) {
	t, err := openParquetFiles(ctx, []storage.Location{path})
	if err != nil || part == nil {
		return t, err
	}
	if part[1] > t.end {
		t.close()
		return nil, &dataerror.Error{File: path.String(), Msg: fmt.Sprintf("has %d row groups, and had %d when it was cut", t.end, part[1])}
	}
	for t.end = part[1]; t.group < part[0]; t.group++ {
		t.row += t.file.GroupRows(t.group)
	}
	return t, nil
}

// rowGroups is the number of row groups of a file.
func rowGroups(ctx context.Context, path storage.Location) (int, error) {
	t, err := openParquetFiles(ctx, []storage.Location{path})
	if err != nil {
		return 0, err
	}
	defer t.close()
	return t.end, nil
}

func openParquetFiles(ctx context.Context, files []storage.Location) (*parquetTable, error) {
	t := &parquetTable{ctx: ctx, files: files}
	err := t.openNext()
	if err != nil {
		return nil, err
	}
	if t.names, err = columnNames(t.file.Root); err != nil {
		t.close()
		return nil, &dataerror.Error{File: files[0].String(), Err: err}
	}
	return t, nil
}

func (t *parquetTable) columns() []string { return t.names }
func (t *parquetTable) path() string      { return t.files[t.opened-1].String() }

func (t *parquetTable) close() {
	for _, s := range t.streams {
		s.stop()
	}
	t.streams = nil
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
}

func (t *parquetTable) openNext() error {
	t.close()
	path := t.files[t.opened]
	t.opened++
	t.row, t.group = 0, 0
	err := dataerror.Guard(path.String(), func() (err error) {
		t.file, err = parquetfile.Open(t.ctx, path)
		return parquetfile.InColumn("", err)
	})
	if err == nil {
		t.end = t.file.Groups()
	}
	return err
}

func (t *parquetTable) choose(columns, times []string) error {
	t.chosen, t.times = columns, times
	if _, err := positions(t.path(), t.names, columns); err != nil {
		return err
	}
	return dataerror.Guard(t.path(), func() error {
		for _, name := range columns {
			if _, err := t.readableColumn(name); err != nil {
				return &dataerror.Error{Column: name, Err: err}
			}
		}
		return nil
	})
}

// batchRows is the most rows of a batch.
const batchRows = 1 << 16

// read returns the rows that lie in one page of every column.
func (t *parquetTable) read() (*Batch, error) {
	for t.left == 0 {
		if err := t.advance(); err != nil {
			return nil, err
		}
	}
	rows, err := t.ready()
	if err != nil {
		return nil, err
	}
	b := &t.batch
	b.Path, b.Rows, b.first, b.Columns = t.path(), rows, t.row+1, b.Columns[:0]
	for _, s := range t.streams {
		b.Columns = append(b.Columns, s.take(rows))
	}
	t.row += rows
	t.left -= rows
	return b, nil
}

// ready returns how many rows all columns can give.
func (t *parquetTable) ready() (rows int, err error) {
	rows = min(t.left, batchRows)
	return rows, dataerror.Guard(t.path(), func() error {
		for i, s := range t.streams {
			n, err := s.ready(t.group-1, rows)
			var panicked *outside.PanicError
			switch {
			case errors.As(err, &panicked):
				return err
			case err != nil:
				return &dataerror.Error{Row: t.row + 1, Column: t.chosen[i], Err: err}
			}
			rows = min(rows, n)
		}
		return nil
	})
}

// advance opens the next row group, in the next file if this one has no more.
func (t *parquetTable) advance() error {
	for t.group >= t.end {
		if t.opened == len(t.files) {
			return io.EOF
		}
		if err := t.openNext(); err != nil {
			return err
		}
	}
	return dataerror.Guard(t.path(), func() error {
		if err := t.openStreams(); err != nil {
			return err
		}
		t.left = t.file.GroupRows(t.group)
		t.group++
		return nil
	})
}

// mostAhead is the most columns whose pages are decoded ahead: each then has two pages in memory.
const mostAhead = 64

// openStreams opens the columns of a file, and checks that they can be opened in the next row group.
func (t *parquetTable) openStreams() error {
	first := t.streams == nil
	for _, name := range t.chosen {
		c, err := t.readableColumn(name)
		if err == nil {
			_, err = t.file.Pages(t.group, c)
		}
		if err != nil {
			return &dataerror.Error{Column: name, Err: err}
		}
		if first {
			t.streams = append(t.streams, openStream(t.file, c, len(t.chosen) <= mostAhead))
		}
	}
	return nil
}

// readableColumn returns the leaf of a column, or an error if its type is not supported.
func (t *parquetTable) readableColumn(name string) (*parquetfile.Column, error) {
	c, err := findColumn(t.file.Root, name)
	if err != nil {
		return nil, err
	}
	for !c.Leaf() {
		switch {
		case len(c.Children) != 1 && c.MaxRep == 0:
			return nil, errors.New("is a struct; name one of its fields, as in COLUMN.FIELD")
		case len(c.Children) != 1:
			return nil, errors.New("is neither a scalar nor a list")
		}
		c = c.Children[0]
	}
	if c.MaxRep > 1 {
		return nil, errors.New("is a list of lists")
	}
	if isTime(c) && c.MaxRep == 0 && slices.Contains(t.times, name) {
		return c, nil
	}
	switch c.Meaning {
	case parquetfile.Decimal:
		return nil, errors.New("holds decimals, which are not supported; write floats")
	case parquetfile.Date, parquetfile.Time, parquetfile.Timestamp:
		return nil, errors.New("holds dates or times, which are not supported; cast the column to a string or to a number, or leave it out")
	}
	return c, nil
}
