package costs

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// csvTable is a CSV file with a header line.
type csvTable struct {
	file   string
	reader *csv.Reader
	header []string
	chosen []int
}

func newCSVTable(path string, r io.Reader, comma rune) (table, error) {
	c := csv.NewReader(r)
	c.Comma = comma
	c.ReuseRecord = true
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, &DataError{File: path, Msg: "is empty; expected a header line"}
	}
	if err != nil {
		return nil, csvError(path, err)
	}
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = strings.TrimSpace(name)
	}
	return &csvTable{file: path, reader: c, header: names}, nil
}

func csvError(path string, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return &DataError{File: path, Row: parse.Line, Err: parse.Err}
	}
	return &DataError{File: path, Msg: "cannot be read", Err: err}
}

func (t *csvTable) names() []string { return t.header }
func (t *csvTable) path() string    { return t.file }
func (t *csvTable) close()          {}

func (t *csvTable) choose(columns []string) (err error) {
	t.chosen, err = positions(t.file, t.header, columns)
	return err
}

func (t *csvTable) next(cells []cell) (int, error) {
	record, err := t.reader.Read()
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, io.EOF
	}
	if err != nil {
		return 0, csvError(t.file, err)
	}
	line, _ := t.reader.FieldPos(0)
	for i, p := range t.chosen {
		cells[i] = cell{kind: textCell, text: record[p]}
		if record[p] == "" {
			cells[i].kind = missingCell
		}
	}
	return line, nil
}
