package tablefile

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// Table reads a foreign table row by row, as cells. Errors about its content are *dataerror.Error with file and row;
// for text tables the row is the line on which it starts. It is not safe for concurrent use.
type Table interface {
	// Names are the columns, in order. In JSONL they are those of the first row.
	Names() []string
	// Choose sets the columns that Next returns.
	Choose(columns []string) error
	// Next fills one cell per chosen column and returns io.EOF after the last row. Cells are valid until the next call.
	Next(cells []Cell) (row int, err error)
	// Path is the file of the last row.
	Path() string
	// Close closes the files. A second Close does nothing.
	Close()
}

// Open opens a file by its extension, or a folder of Parquet parts: .csv, .tsv, .jsonl and .ndjson, each also .gz, and
// .parquet. The caller closes the table.
func Open(path string) (Table, error) {
	name, zipped := strings.CutSuffix(strings.ToLower(filepath.Base(path)), ".gz")
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || strings.HasSuffix(name, ".parquet") && !zipped {
		return openParquetTable(path)
	}
	var open func(string, *bufio.Reader) (Table, error)
	switch filepath.Ext(name) {
	case ".csv":
		open = func(p string, r *bufio.Reader) (Table, error) { return newCSVTable(p, r, ',') }
	case ".tsv":
		open = func(p string, r *bufio.Reader) (Table, error) { return newCSVTable(p, r, '\t') }
	case ".jsonl", ".ndjson":
		open = func(p string, r *bufio.Reader) (Table, error) { return newJSONTable(p, r) }
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
	t, err := open(path, r)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &fileTable{t, file}, nil
}

// fileTable closes the file of a text table.
type fileTable struct {
	Table
	file io.Closer
}

func (t *fileTable) Close() { t.file.Close() }
