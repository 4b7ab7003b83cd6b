package tablefile

import (
	"bufio"
	"context"
	"path/filepath"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
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
	choose(columns, times []string) error
	// read returns the next rows, at least one, valid until the next call. After an error it is not called again.
	read() (*Batch, error)
	path() string
	close()
}

// Names are the columns, in order. In JSONL they are those of the first row.
func (t *Table) Names() []string { return t.in.columns() }

// Choose sets the columns to read. It is called once, before the first row is read. Those in times may be timestamps and
// dates of Parquet, for Cell.Time; in other columns these are refused.
func (t *Table) Choose(columns []string, times ...string) error { return t.in.choose(columns, times) }

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
	for i := range cells {
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

// Layout says where a table is and how its rows are found.
type Layout struct {
	// Path is a file of a known extension, or a folder of files of one kind: .csv, .tsv, .jsonl, .ndjson and .json,
	// each also .gz, and .parquet.
	Path storage.Location
	// Rows is for JSON files that are one object: the key of the list whose objects are the rows. The columns are the
	// values of the object, and ROWS.KEY for those of a row. "": a .json file is a list of rows.
	Rows string
	// Paths is a pattern of the files of a folder (ParsePaths), such as "{dataset}/{split}/*.json". Other files are
	// left out. What a {name} stands for is a column. It does not concern a Path that is a file.
	Paths string
	// Cut are columns that are parts of another, by the name of that one (ParseCut), such as id: '(?<user>.+)-\d+'. They are
	// missing where it is. A value that does not fit is an error.
	Cut map[string]string
	// Combine are columns made of others, also of those that are cut, such as id: "{dataset}/{index}". They are missing
	// where one of those is. Without a {column} they are constants.
	Combine map[string]string
	// All makes Names complete: they are those of all files, and of all rows of JSON files, which takes another pass.
	All bool
	// Part leaves out the pieces before the first and from the second number on, of those that Pieces counts. The names of
	// the columns are those of the whole table. Nil: all pieces.
	Part *[2]int

	quick bool // the names of the columns are not asked for
}

// Open opens the table at path.
func Open(ctx context.Context, path storage.Location) (*Table, error) {
	return Layout{Path: path}.Open(ctx)
}

// Open opens the table. The caller closes it.
func (l Layout) Open(ctx context.Context) (*Table, error) {
	in, err := l.openFiles(ctx)
	if err != nil {
		return nil, err
	}
	made, err := l.withMade(in)
	if err != nil {
		in.close()
		return nil, dataerror.InFile(l.Path.String(), err)
	}
	return &Table{in: made}, nil
}

// withMade adds the columns of Cut and Combine to a table.
func (l Layout) withMade(in source) (source, error) {
	if len(l.Cut) > 0 {
		made, err := cutting(l.Cut)
		if err != nil {
			return nil, err
		}
		if in, err = newMadeTable(in, made); err != nil {
			return nil, err
		}
	}
	if len(l.Combine) == 0 {
		return in, nil
	}
	made, err := combining(in, l.Combine)
	if err != nil {
		return nil, err
	}
	return newMadeTable(in, made)
}

func (l Layout) openFiles(ctx context.Context) (source, error) {
	info, err := l.Path.Stat(ctx)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return l.openFile(ctx, l.Path)
	}
	files, err := l.Files(ctx)
	if err != nil {
		return nil, err
	}
	if l.Paths == "" && !l.All && extension(files[0].Base()) == ".parquet" {
		if l.Part != nil {
			files = files[l.Part[0]:l.Part[1]]
		}
		return openParquetFiles(ctx, files)
	}
	return newFolderTable(ctx, l, files)
}

// unknownExtension says what to do with a file of another kind.
func unknownExtension(path storage.Location) error {
	err := &dataerror.Error{File: path.String(), Msg: "has an unknown extension; known are .csv, .tsv, .jsonl, .ndjson, .json, each also .gz, and .parquet"}
	switch strings.ToLower(filepath.Ext(path.Base())) {
	case ".xlsx", ".xls", ".xlsm", ".ods", ".numbers":
		err.Err = &textfile.Fault{Msg: "it is a spreadsheet", Advice: "open it in the program that wrote it, save the sheet as CSV, and use that file"}
	}
	return err
}

// openFile opens a file by its extension.
func (l Layout) openFile(ctx context.Context, path storage.Location) (source, error) {
	if err := refusePickle(ctx, path); err != nil {
		return nil, err
	}
	ext := extension(path.Base())
	switch ext {
	case ".parquet":
		return openParquetTable(ctx, path, l.Part)
	case ".json":
		return l.openJSON(ctx, path, l.Rows)
	case ".csv", ".tsv", ".jsonl", ".ndjson":
	default:
		return nil, unknownExtension(path)
	}
	r, file, err := openText(ctx, path)
	if err != nil {
		return nil, err
	}
	if ext != ".csv" && ext != ".tsv" && beginsList(r) {
		file.Close()
		return l.openJSON(ctx, path, "")
	}
	var t rowReader
	switch ext {
	case ".csv":
		t, err = newCSVTable(path.String(), r, ',')
	case ".tsv":
		t, err = newCSVTable(path.String(), r, '\t')
	default:
		t, err = newJSONTable(path, r)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	if lines, ok := t.(*jsonTable); ok && l.All {
		if err := lines.survey(ctx); err != nil {
			file.Close()
			return nil, err
		}
	}
	return newTextTable(t, file), nil
}

// openJSON opens a file that is one JSON value.
func (l Layout) openJSON(ctx context.Context, path storage.Location, rows string) (source, error) {
	in, err := openJSONFile(ctx, path, rows, l.All, l.quick)
	if err != nil {
		return nil, err
	}
	return newTextTable(in, in.list), nil
}

// beginsList reports whether a file that should have an object in each line is one list.
func beginsList(r *bufio.Reader) bool {
	const most = 1 << 10 // bytes of white space
	for n := 1; n <= most; n++ {
		head, err := r.Peek(n)
		if err != nil {
			return false
		}
		if c := head[n-1]; !strings.ContainsRune(" \t\r\n", rune(c)) {
			return c == '['
		}
	}
	return false
}

// extension is the lower-case extension of a file, without .gz; "" if it is not known.
func extension(path string) string {
	name, zipped := strings.CutSuffix(strings.ToLower(filepath.Base(path)), ".gz")
	switch ext := filepath.Ext(name); ext {
	case ".csv", ".tsv", ".jsonl", ".ndjson", ".json":
		return ext
	case ".parquet":
		if !zipped {
			return ext
		}
	}
	return ""
}
