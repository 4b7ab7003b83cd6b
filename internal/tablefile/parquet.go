package tablefile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
	"pipe/internal/textfile"
)

// parquetTable reads chosen columns of a Parquet file or a folder of parts.
type parquetTable struct {
	files   []string
	file    *parquetfile.File
	opened  int // files opened so far
	group   int // Next row group of the open file
	columns []string
	chosen  []string
	streams []*valueStream
	row     int // rows returned of the open file
	left    int // rows left in the open row group
}

func openParquetTable(path string) (*parquetTable, error) {
	files, _, err := parquetfile.Parts(path)
	if err != nil {
		return nil, err
	}
	t := &parquetTable{files: files}
	if err := t.openNext(); err != nil {
		return nil, err
	}
	for _, c := range t.file.Root.Children {
		t.columns = append(t.columns, c.Name)
	}
	return t, nil
}

func (t *parquetTable) Names() []string { return t.columns }
func (t *parquetTable) Path() string    { return t.files[t.opened-1] }

func (t *parquetTable) Close() {
	t.streams = nil
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
}

func (t *parquetTable) openNext() error {
	t.Close()
	path := t.files[t.opened]
	t.opened++
	t.row, t.group = 0, 0
	return dataerror.Guard(path, func() (err error) {
		t.file, err = parquetfile.Open(path)
		return parquetfile.InColumn("", err)
	})
}

func (t *parquetTable) Choose(columns []string) error {
	t.chosen = columns
	if _, err := positions(t.Path(), t.columns, columns); err != nil {
		return err
	}
	return dataerror.Guard(t.Path(), func() error {
		for _, name := range columns {
			if _, err := readableColumn(t.file, name); err != nil {
				return &dataerror.Error{Column: name, Err: err}
			}
		}
		return nil
	})
}

func (t *parquetTable) Next(cells []Cell) (int, error) {
	for t.left == 0 {
		if err := t.advance(); err != nil {
			return 0, err
		}
	}
	err := dataerror.Guard(t.Path(), func() error {
		for i, s := range t.streams {
			var err error
			if cells[i], err = s.Next(); err != nil {
				return &dataerror.Error{Row: t.row + 1, Column: t.chosen[i], Err: err}
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	t.row++
	t.left--
	return t.row, nil
}

// advance opens the next row group, in the next file if this one has no more.
func (t *parquetTable) advance() error {
	t.streams = nil
	for t.group == t.file.Groups() {
		if t.opened == len(t.files) {
			return io.EOF
		}
		if err := t.openNext(); err != nil {
			return err
		}
	}
	return dataerror.Guard(t.Path(), func() error {
		group := t.group
		t.group++
		t.left = t.file.GroupRows(group)
		for _, name := range t.chosen {
			s, err := openStream(t.file, group, name)
			if err != nil {
				return &dataerror.Error{Column: name, Err: err}
			}
			t.streams = append(t.streams, s)
		}
		return nil
	})
}

// valueStream reads one column of a row group, a scalar or a list of scalars,
// as cells.
type valueStream struct {
	column *parquetfile.Column
	pages  *parquetfile.Pages
	page   *parquetfile.Page // nil before the first
	at     int               // values and nulls of the page read so far
	value  int               // of these, values
	floats []float32
}

func openStream(file *parquetfile.File, group int, name string) (*valueStream, error) {
	c, err := readableColumn(file, name)
	if err != nil {
		return nil, err
	}
	pages, err := file.Pages(group, c)
	if err != nil {
		return nil, err
	}
	return &valueStream{column: c, pages: pages}, nil
}

// readableColumn returns the leaf of a column, or an error if its type is not supported.
func readableColumn(file *parquetfile.File, name string) (*parquetfile.Column, error) {
	c := file.Root.Child(name)
	if c == nil {
		return nil, errors.New("is missing from this part")
	}
	for !c.Leaf() {
		if len(c.Children) != 1 {
			return nil, errors.New("is neither a scalar nor a list")
		}
		c = c.Children[0]
	}
	if c.MaxRep > 1 {
		return nil, errors.New("is a list of lists")
	}
	switch c.Meaning {
	case parquetfile.Decimal:
		return nil, errors.New("holds decimals, which are not supported; write floats")
	case parquetfile.Date, parquetfile.Time, parquetfile.Timestamp:
		return nil, errors.New("holds dates or times, which are not supported; cast the column to a string or to a number, or leave it out")
	}
	return c, nil
}

// more makes sure that the page has a value left and returns its levels. After the last value it returns io.EOF.
func (s *valueStream) more() (rep, def int, err error) {
	for s.page == nil || s.at == s.page.Len {
		page, err := s.pages.Next()
		if err != nil {
			return 0, 0, err
		}
		s.page, s.at, s.value = page, 0, 0
	}
	if s.page.Rep != nil {
		rep = int(s.page.Rep[s.at])
	}
	def = s.column.MaxDef
	if s.page.Def != nil {
		def = int(s.page.Def[s.at])
	}
	return rep, def, nil
}

// take consumes the value that more found and returns its cell.
func (s *valueStream) take(def int) (Cell, error) {
	s.at++
	if def < s.column.MaxDef {
		return Cell{}, nil
	}
	s.value++
	return s.cell(s.value - 1)
}

func (s *valueStream) Next() (Cell, error) {
	_, def, err := s.more()
	if err != nil {
		return Cell{}, unexpected(err)
	}
	if s.column.MaxRep == 0 {
		return s.take(def)
	}
	s.floats = s.floats[:0]
	for n := 0; ; n++ {
		rep, def, err := s.more()
		if errors.Is(err, io.EOF) || err == nil && n > 0 && rep == 0 {
			return Cell{kind: listCell, list: s.floats}, nil
		}
		if err != nil {
			return Cell{}, err
		}
		c, err := s.take(def)
		if err != nil {
			return Cell{}, err
		}
		if max := s.column.MaxDef; def < max {
			if n == 0 && def < max-1 {
				return Cell{}, nil // the list itself is null
			}
			return Cell{}, fmt.Errorf("element %d is null", n)
		}
		f, err := c.Float()
		if err != nil {
			return Cell{}, fmt.Errorf("element %d: %w", n, err)
		}
		s.floats = append(s.floats, float32(f))
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("has fewer rows than the metadata says")
	}
	return err
}

// Cell returns value i of the page.
func (s *valueStream) cell(i int) (Cell, error) {
	switch s.column.Kind {
	case parquetfile.Boolean:
		return Cell{kind: textCell, text: map[int64]string{0: "false", 1: "true"}[s.page.Ints[i]]}, nil
	case parquetfile.Int32:
		return Cell{kind: numberCell, num: float64(s.page.Ints[i])}, nil
	case parquetfile.Float:
		return Cell{kind: numberCell, num: float64(s.page.Floats[i])}, nil
	case parquetfile.Double:
		return Cell{kind: numberCell, num: s.page.Doubles[i]}, nil
	}
	text := strings.Clone(s.page.Text(i)) // do not keep the whole page in memory
	if s.column.Meaning == parquetfile.Text && !utf8.ValidString(text) {
		return Cell{}, fmt.Errorf("%s is not valid UTF-8", textfile.Quoted(text))
	}
	if text == "" {
		return Cell{}, nil
	}
	return Cell{kind: textCell, text: text}, nil
}
