package tablefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"pipe/internal/storage"
)

// TextReader reads chosen columns of a foreign table row by row as text: CSV, TSV, JSON or JSON lines, each also gzipped,
// Parquet, or a folder of such files. Columns that are not chosen may have any type. It is not safe for
// concurrent use.
type TextReader struct {
	in    *Table
	cells []Cell
}

// OpenText opens a table by its extension. No column is chosen yet. The caller closes the reader.
func OpenText(ctx context.Context, path storage.Location) (*TextReader, error) {
	in, err := Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	return &TextReader{in: in}, nil
}

// Columns returns the names of all columns, in order; those of JSON are the keys of the first row. Behind a struct or a
// nested object are the paths to its fields.
func (r *TextReader) Columns() []string { return r.in.Names() }

// Choose sets the columns that Next returns, and must be called before the first Next. If a column is missing, is a
// duplicate or has an unsupported type, the error is a *dataerror.Error with file and column.
func (r *TextReader) Choose(names ...string) error {
	if err := r.in.Choose(names); err != nil {
		return fmt.Errorf("read table: %w", err)
	}
	r.cells = make([]Cell, len(names))
	return nil
}

// Next returns the chosen cells of the next row, in the order of Choose, and the place of the row: its line in a text
// file, its number in a Parquet file, from 1. The caller may keep the cells. A missing value is "", a list is [1,2.5],
// a JSON object its text. After the last row the error is io.EOF; bad data is a *dataerror.Error with file and row.
func (r *TextReader) Next() (cells []string, row int, err error) {
	row, err = r.in.Next(r.cells)
	if errors.Is(err, io.EOF) {
		return nil, 0, io.EOF
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read table: %w", err)
	}
	cells = make([]string, len(r.cells))
	for i := range r.cells {
		cells[i] = strings.Clone(r.cells[i].written()) // it may be a part of a page
	}
	return cells, row, nil
}

// Close closes the files.
func (r *TextReader) Close() { r.in.Close() }
