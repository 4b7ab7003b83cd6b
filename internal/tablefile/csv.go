package tablefile

import (
	"bufio"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// csvTable is a CSV file with a header line.
type csvTable struct {
	file   string
	reader *textfile.CSV
	header []string
	chosen []int
}

func newCSVTable(path string, r *bufio.Reader, comma rune) (*csvTable, error) {
	c, err := textfile.NewCSV(path, r, comma)
	if err != nil {
		return nil, dataerror.FromText(err)
	}
	names := make([]string, len(c.Header()))
	for i, name := range c.Header() {
		names[i] = strings.TrimSpace(name)
	}
	return &csvTable{file: path, reader: c, header: names}, nil
}

func (t *csvTable) columns() []string { return t.header }
func (t *csvTable) path() string      { return t.file }

func (t *csvTable) choose(columns []string) (err error) {
	t.chosen, err = positions(t.file, t.header, columns)
	return err
}

func (t *csvTable) row(cells []Cell) (int, error) {
	record, err := t.reader.Read()
	if err != nil {
		return 0, dataerror.FromText(err)
	}
	for i, p := range t.chosen {
		cells[i] = Cell{kind: textCell, text: record[p]}
		if record[p] == "" {
			cells[i].kind = missingCell
		}
	}
	return t.reader.Line(0), nil
}
