package costs

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TableReader reads a foreign table row by row as text: CSV, TSV or JSON lines,
// each also gzipped, a Parquet file or a folder of Parquet parts. It is not for
// use by several goroutines at once.
type TableReader struct {
	in    table
	names []string
	cells []cell
}

// OpenTable opens a table by its ending. Column names are unique; those of JSON
// lines are the keys of the first line. The caller closes the reader.
func OpenTable(path string) (*TableReader, error) {
	in, err := openTable(path)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	r := &TableReader{in: in, names: in.names(), cells: make([]cell, len(in.names()))}
	if err := in.choose(r.names); err != nil {
		in.close()
		return nil, fmt.Errorf("read table: %w", err)
	}
	return r, nil
}

// Columns returns the names of the columns, in order.
func (r *TableReader) Columns() []string { return r.names }

// Next returns the cells of the next row, for the caller to keep, and where the
// row is: its line in a text file, its number in a Parquet file, from 1. A
// missing value is "", a list is [1,2.5], a JSON object its text. After the last
// row the error is io.EOF; bad data are a *DataError with file and row.
func (r *TableReader) Next() (cells []string, row int, err error) {
	row, err = r.in.next(r.cells)
	if errors.Is(err, io.EOF) {
		return nil, 0, io.EOF
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read table: %w", err)
	}
	cells = make([]string, len(r.cells))
	for i := range r.cells {
		cells[i] = r.cells[i].written()
	}
	return cells, row, nil
}

// Close closes the files.
func (r *TableReader) Close() { r.in.close() }

// written returns the cell as text; a list as a JSON array.
func (c *cell) written() string {
	if c.kind != listCell {
		return c.str()
	}
	var b strings.Builder
	for i, v := range c.list {
		sep := ","
		if i == 0 {
			sep = "["
		}
		b.WriteString(sep)
		b.WriteString(strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
	if len(c.list) == 0 {
		b.WriteString("[")
	}
	b.WriteString("]")
	return b.String()
}
