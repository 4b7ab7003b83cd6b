package tablefile

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// Table reads a foreign table as cells, some rows at a time. Errors about its content are *dataerror.Error with file and
// row; for text tables the row is the line on which it starts. Rows are read in the background, ahead of those that were
// asked for. It is not safe for concurrent use.
type Table struct {
	in     source
	batch  *Batch // of the last row that Next returned
	at     int    // rows of it that were returned
	closed bool
}

// source is a kind of table.
type source interface {
	columns() []string
	choose(columns []string) error
	// read returns the next rows, at least one, valid until the next call. After an error it is not called again.
	read() (*Batch, error)
	path() string
	close()
}

// Names are the columns, in order. In JSONL they are those of the first row.
func (t *Table) Names() []string { return t.in.columns() }

// Choose sets the columns to read. It is called once, before the first row is read.
func (t *Table) Choose(columns []string) error { return t.in.choose(columns) }

// Read returns the next rows, in order, and io.EOF after the last. Rows before a wrong one are returned before its error.
func (t *Table) Read() (*Batch, error) { return t.in.read() }

// Next fills one cell per chosen column and returns the place of the row, as Batch.Place does. Cells are valid until the
// next call. After the last row it returns io.EOF.
func (t *Table) Next(cells []Cell) (row int, err error) {
	if t.batch == nil || t.at == t.batch.Rows {
		if t.batch, err = t.in.read(); err != nil {
			return 0, err
		}
		t.at = 0
	}
	for i := range t.batch.Columns {
		cells[i] = t.batch.Columns[i].Cell(t.at)
	}
	t.at++
	return t.batch.Place(t.at - 1), nil
}

// Path is the file that was opened last.
func (t *Table) Path() string { return t.in.path() }

// Close closes the files. A second Close does nothing.
func (t *Table) Close() {
	if !t.closed {
		t.closed = true
		t.in.close()
	}
}

// Open opens a file by its extension, or a folder of Parquet parts: .csv, .tsv, .jsonl and .ndjson, each also .gz, and
// .parquet. The caller closes the table.
func Open(path string) (*Table, error) {
	name, zipped := strings.CutSuffix(strings.ToLower(filepath.Base(path)), ".gz")
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || strings.HasSuffix(name, ".parquet") && !zipped {
		in, err := openParquetTable(path)
		if err != nil {
			return nil, err
		}
		return &Table{in: in}, nil
	}
	var open func(string, *bufio.Reader) (rowReader, error)
	switch filepath.Ext(name) {
	case ".csv":
		open = func(p string, r *bufio.Reader) (rowReader, error) { return newCSVTable(p, r, ',') }
	case ".tsv":
		open = func(p string, r *bufio.Reader) (rowReader, error) { return newCSVTable(p, r, '\t') }
	case ".jsonl", ".ndjson":
		open = func(p string, r *bufio.Reader) (rowReader, error) { return newJSONTable(p, r) }
	default:
		return nil, &dataerror.Error{File: path, Msg: "has an unknown extension; known are .csv, .tsv, .jsonl, .ndjson, each also .gz, and .parquet"}
	}
	if err := textfile.CheckRegular(path); err != nil {
		return nil, dataerror.FromText(err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := textfile.Decode(path, file, false)
	if err != nil {
		file.Close()
		return nil, dataerror.FromText(err)
	}
	rows, err := open(path, r)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Table{in: newTextTable(rows, file)}, nil
}
