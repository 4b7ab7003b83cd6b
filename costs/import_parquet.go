package costs

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetTable reads chosen columns of a Parquet file or a folder of parts.
type parquetTable struct {
	files   []string
	file    *os.File
	pf      *parquet.File
	opened  int // files opened so far
	group   int // next row group of the open file
	columns []string
	chosen  []string
	streams []*valueStream
	row     int // rows returned of the open file
	left    int // rows left in the open row group
}

func openParquetTable(path string) (table, error) {
	files, _, err := partFiles(path)
	if err != nil {
		return nil, err
	}
	t := &parquetTable{files: files}
	if err := t.openNext(); err != nil {
		return nil, err
	}
	for _, c := range t.pf.Root().Columns() {
		t.columns = append(t.columns, c.Name())
	}
	return t, nil
}

func (t *parquetTable) names() []string { return t.columns }
func (t *parquetTable) path() string    { return t.files[t.opened-1] }

func (t *parquetTable) close() {
	t.closeStreams()
	if t.file != nil {
		t.file.Close()
		t.file = nil
	}
}

func (t *parquetTable) closeStreams() {
	for _, s := range t.streams {
		s.close()
	}
	t.streams = nil
}

func (t *parquetTable) openNext() error {
	t.close()
	path := t.files[t.opened]
	t.opened++
	t.row, t.group = 0, 0
	return guarded(path, func() error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		info, err := file.Stat()
		if err == nil {
			err = checkFooter(file, info.Size())
		}
		if err != nil {
			file.Close()
			return err
		}
		if t.pf, err = parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true)); err != nil {
			file.Close()
			return &DataError{Msg: "is no Parquet file, or a truncated one", Err: err}
		}
		t.file = file
		return nil
	})
}

func (t *parquetTable) choose(columns []string) error {
	t.chosen = columns
	_, err := positions(t.path(), t.columns, columns)
	return err
}

func (t *parquetTable) next(cells []cell) (int, error) {
	for t.left == 0 {
		if err := t.advance(); err != nil {
			return 0, err
		}
	}
	err := guarded(t.path(), func() error {
		for i, s := range t.streams {
			var err error
			if cells[i], err = s.next(); err != nil {
				return &DataError{Row: t.row + 1, Column: t.chosen[i], Err: err}
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
	t.closeStreams()
	for t.group == len(t.pf.RowGroups()) {
		if t.opened == len(t.files) {
			return io.EOF
		}
		if err := t.openNext(); err != nil {
			return err
		}
	}
	return guarded(t.path(), func() error {
		group := t.pf.RowGroups()[t.group]
		t.group++
		t.left = int(group.NumRows())
		for _, name := range t.chosen {
			s, err := openStream(t.pf.Root(), group, name)
			if err != nil {
				return &DataError{Column: name, Err: err}
			}
			t.streams = append(t.streams, s)
		}
		return nil
	})
}

// valueStream reads one column of a row group, a scalar or a list of scalars,
// as cells.
type valueStream struct {
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	buf    []parquet.Value
	at     int
	list   bool
	def    int // definition level of a value that is there
	floats []float32
}

func openStream(root *parquet.Column, group parquet.RowGroup, name string) (*valueStream, error) {
	col := root.Column(name)
	if col == nil {
		return nil, errors.New("is missing from this part")
	}
	for !col.Leaf() {
		if len(col.Columns()) != 1 {
			return nil, errors.New("is neither a scalar nor a list")
		}
		col = col.Columns()[0]
	}
	if col.MaxRepetitionLevel() > 1 {
		return nil, errors.New("is a list of lists")
	}
	if l := col.Type().LogicalType(); l != nil {
		if _, ok := l.Value.(*format.DecimalType); ok {
			return nil, errors.New("holds decimals, which are not read; write floats")
		}
	}
	return &valueStream{
		pages: group.ColumnChunks()[col.Index()].Pages(),
		list:  col.MaxRepetitionLevel() == 1, def: col.MaxDefinitionLevel(),
	}, nil
}

func (s *valueStream) close() {
	if s.page != nil {
		parquet.Release(s.page)
		s.page = nil
	}
	s.pages.Close()
}

// peek returns the next value without passing it.
func (s *valueStream) peek() (parquet.Value, error) {
	for s.at == len(s.buf) {
		if s.values == nil {
			if s.page != nil {
				parquet.Release(s.page)
				s.page = nil
			}
			page, err := s.pages.ReadPage()
			if err != nil {
				return parquet.Value{}, err
			}
			s.page, s.values = page, page.Values()
		}
		if s.buf == nil {
			s.buf = make([]parquet.Value, 512)
		}
		n, err := s.values.ReadValues(s.buf[:cap(s.buf)])
		s.buf, s.at = s.buf[:n], 0
		if errors.Is(err, io.EOF) {
			s.values = nil
		} else if err != nil {
			return parquet.Value{}, err
		}
	}
	return s.buf[s.at], nil
}

func (s *valueStream) next() (cell, error) {
	v, err := s.peek()
	if err != nil {
		return cell{}, unexpected(err)
	}
	if !s.list {
		s.at++
		return scalarCell(v)
	}
	s.floats = s.floats[:0]
	for n := 0; ; n++ {
		if err == nil {
			v, err = s.peek()
		}
		if errors.Is(err, io.EOF) || err == nil && n > 0 && v.RepetitionLevel() == 0 {
			return cell{kind: listCell, list: s.floats}, nil
		}
		if err != nil {
			return cell{}, err
		}
		s.at++
		if v.IsNull() && v.DefinitionLevel() < s.def {
			if n == 0 && v.DefinitionLevel() < s.def-1 {
				return cell{}, nil // the list itself is null
			}
			return cell{}, fmt.Errorf("element %d is null", n)
		}
		c, err := scalarCell(v)
		if err != nil {
			return cell{}, err
		}
		f, err := c.float()
		if err != nil {
			return cell{}, fmt.Errorf("element %d: %w", n, err)
		}
		s.floats = append(s.floats, float32(f))
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("has fewer rows than the metadata say")
	}
	return err
}

func scalarCell(v parquet.Value) (cell, error) {
	if v.IsNull() {
		return cell{}, nil
	}
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return cell{kind: textCell, text: "true"}, nil
		}
		return cell{kind: textCell, text: "false"}, nil
	case parquet.Int32:
		return cell{kind: numberCell, num: float64(v.Int32())}, nil
	case parquet.Int64:
		return cell{kind: textCell, text: fmt.Sprint(v.Int64())}, nil
	case parquet.Float:
		return cell{kind: numberCell, num: float64(v.Float())}, nil
	case parquet.Double:
		return cell{kind: numberCell, num: v.Double()}, nil
	case parquet.ByteArray:
		if len(v.ByteArray()) == 0 {
			return cell{}, nil
		}
		return cell{kind: textCell, text: string(v.ByteArray())}, nil
	}
	return cell{}, fmt.Errorf("is of type %s, which is not read", v.Kind())
}
