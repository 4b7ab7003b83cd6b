package tablefile

import (
	"io"

	"pipe/internal/dataerror"
)

// rowReader reads a text table row by row.
type rowReader interface {
	columns() []string
	choose(columns []string) error
	path() string
	// row fills one cell per chosen column and returns the line of the row.
	row(cells []Cell) (line int, err error)
}

// textTable reads the rows of a text table in the background, a batch ahead.
type textTable struct {
	rowReader
	file   io.Closer
	items  ahead[textItem]
	memory [2]textItem
	turn   int
	width  int   // cells of a row, at least 1
	failed error // that ended the reading
	err    error // the same, once it was passed on
}

// textItem is some rows of a text table, and the error after them.
type textItem struct {
	batch Batch
	cells []Cell
	err   error
}

// The largest numbers of rows and cells in a batch of a text table.
const (
	textRows  = 1 << 9
	textCells = 1 << 13
)

func newTextTable(rows rowReader, file io.Closer) *textTable {
	t := &textTable{rowReader: rows, file: file}
	t.items.next = t.next
	return t
}

func (t *textTable) choose(columns, _ []string) error {
	t.width = max(1, len(columns))
	return t.rowReader.choose(columns)
}

func (t *textTable) read() (*Batch, error) {
	if t.err != nil {
		return nil, t.err
	}
	item := t.items.take()
	t.err = item.err
	if item.batch.Rows == 0 {
		return nil, t.err
	}
	return &item.batch, nil
}

// next reads the next rows.
func (t *textTable) next() textItem {
	item := &t.memory[t.turn]
	t.turn = 1 - t.turn
	b := &item.batch
	b.Path, b.Rows, b.lines = t.path(), 0, b.lines[:0]
	if item.cells == nil {
		item.cells = make([]Cell, max(1, min(textRows, textCells/t.width))*t.width)
		for i := range t.width {
			b.Columns = append(b.Columns, Column{cells: item.cells[i:], step: t.width})
		}
	}
	if t.failed == nil {
		t.failed = dataerror.Guard(t.path(), func() error { return t.fill(b, item.cells) })
	}
	item.err = t.failed
	return *item
}

func (t *textTable) fill(b *Batch, cells []Cell) error {
	for ; len(cells) > 0; cells = cells[t.width:] {
		line, err := t.row(cells[:t.width])
		if err != nil {
			return err
		}
		b.lines = append(b.lines, line)
		b.Rows++
	}
	return nil
}

func (t *textTable) close() {
	t.items.stop()
	t.file.Close()
}
