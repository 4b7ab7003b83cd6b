package decisionlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
)

// openParquet opens the Parquet file of a segment and checks that it is one of its stream.
func openParquet(s *segment) (*parquetfile.File, error) {
	f, err := parquetfile.Open(s.path(parquetEnding))
	if err != nil {
		return nil, parquetfile.InColumn("", err)
	}
	text, _ := f.Lookup(logKey)
	if err := readHead([]byte(text[:max(0, len(text)-1)]), s.stream); err != nil {
		f.Close()
		return nil, &dataerror.Error{Msg: "is no segment of a decision log", Err: err}
	}
	return f, nil
}

// rowsOfParquet calls use with every row of a segment.
func rowsOfParquet[T any](s *segment, fields []field[T], start func(f *parquetfile.File) error, use func(r *T) error) error {
	path := s.path(parquetEnding)
	return dataerror.Guard(path, func() error {
		f, err := openParquet(s)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := start(f); err != nil {
			return err
		}
		done := 0
		for g := range f.Groups() {
			rows, err := readGroup(f, g, fields)
			if err != nil {
				return err
			}
			for i := range rows {
				if err := use(&rows[i]); err != nil {
					return &dataerror.Error{Row: done + i + 1, Err: err}
				}
			}
			done += len(rows)
		}
		return nil
	})
}

// readGroup reads a row group.
func readGroup[T any](f *parquetfile.File, group int, fields []field[T]) ([]T, error) {
	n := f.GroupRows(group)
	if n > maxGroupRows {
		return nil, &dataerror.Error{Msg: fmt.Sprintf("row group %d has %d rows; those of a log have at most %d", group, n, maxGroupRows)}
	}
	rows := make([]T, n)
	for i := range fields {
		if err := fields[i].read(f, group, rows); err != nil {
			return nil, parquetfile.InColumn(fields[i].name, inColumn(fields[i].name, err))
		}
	}
	return rows, nil
}

func inColumn(name string, err error) error {
	var data *dataerror.Error
	if errors.As(err, &data) && data.Column == "" {
		data.Column = name
	}
	return err
}

// leaf finds the column of the values and checks its form.
func (f *field[T]) leaf(file *parquetfile.File) (*parquetfile.Column, error) {
	top := file.Root.Child(f.name)
	if top == nil {
		return nil, &dataerror.Error{Msg: "is missing"}
	}
	c := top
	for !c.Leaf() {
		if len(c.Children) != 1 {
			return nil, &dataerror.Error{Msg: fmt.Sprintf("is a group of %d columns", len(c.Children))}
		}
		c = c.Children[0]
	}
	_, value := f.levels()
	rep := 0
	if f.list {
		rep = 1
	}
	if c.Kind != f.kind || c.MaxDef != value || c.MaxRep != rep {
		return nil, &dataerror.Error{Msg: fmt.Sprintf("has values of type %s with levels %d and %d; a log has %s, %d, %d", c.Kind, c.MaxRep, c.MaxDef, f.kind, rep, value)}
	}
	return c, nil
}

// read reads the column of a row group into the rows.
func (f *field[T]) read(file *parquetfile.File, group int, rows []T) error {
	if f.none != nil {
		for i := range rows {
			f.none(&rows[i])
		}
	}
	if f.later && file.Root.Child(f.name) == nil {
		return nil
	}
	c, err := f.leaf(file)
	if err != nil {
		return err
	}
	pages, err := file.Pages(group, c)
	if err != nil {
		return err
	}
	in := filler[T]{field: f, rows: rows, row: -1}
	for {
		page, err := pages.Next()
		if errors.Is(err, io.EOF) {
			return in.end()
		}
		if err != nil {
			return err
		}
		if err := in.page(page); err != nil {
			return err
		}
	}
}

// filler puts the values of a column into rows. The cells of a row are collected until the next row starts.
type filler[T any] struct {
	field *field[T]
	rows  []T
	row   int
	cells []cell
	wide  []float32
	null  bool
}

func (in *filler[T]) page(p *parquetfile.Page) error {
	empty, value := in.field.levels()
	next := 0
	for i := range p.Len {
		if p.Rep == nil || p.Rep[i] == 0 {
			in.finish()
			if in.row++; in.row >= len(in.rows) {
				return &dataerror.Error{Msg: fmt.Sprintf("has more rows than the %d of its group", len(in.rows))}
			}
		} else if in.row < 0 {
			return &dataerror.Error{Msg: "starts inside a row"}
		}
		def := value
		if p.Def != nil {
			def = int(p.Def[i])
		}
		switch {
		case def == value && in.field.wide != nil:
			in.wide = append(in.wide, p.Floats[next])
			next++
		case def == value:
			in.cells = append(in.cells, in.cell(p, next))
			next++
		case in.field.elements && def == value-1:
			in.cells = append(in.cells, cell{null: true})
		case def < empty || !in.field.list:
			in.null = true
		}
	}
	return nil
}

func (in *filler[T]) cell(p *parquetfile.Page, i int) cell {
	switch in.field.kind {
	case parquetfile.ByteArray:
		return cell{text: p.Text(i)}
	case parquetfile.Float:
		return cell{number: float64(p.Floats[i])}
	case parquetfile.Double:
		return cell{number: p.Doubles[i]}
	}
	return cell{int: p.Ints[i]}
}

// finish puts the cells of the current row into it.
func (in *filler[T]) finish() {
	if in.row >= 0 {
		r, f := &in.rows[in.row], in.field
		switch {
		case f.wide != nil && len(in.wide) > 0:
			*f.wide(r) = append([]float32(nil), in.wide...)
		case f.wide != nil || in.null:
		default:
			if f.list {
				f.size(r, len(in.cells))
			}
			for i, c := range in.cells {
				f.set(r, i, c)
			}
		}
	}
	in.cells, in.wide, in.null = in.cells[:0], in.wide[:0], false
}

func (in *filler[T]) end() error {
	in.finish()
	if in.row+1 != len(in.rows) {
		return &dataerror.Error{Msg: fmt.Sprintf("has %d rows, its group %d", in.row+1, len(in.rows))}
	}
	return nil
}

// recordsOfParquet reads the records of a Parquet segment.
func recordsOfParquet(s *segment, use func(r *Record, p *PolicyInfo) error) error {
	known := map[string]*PolicyInfo{}
	start := func(f *parquetfile.File) error {
		text, _ := f.Lookup(policiesKey)
		var list []*PolicyInfo
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return &dataerror.Error{Column: policiesKey, Msg: "is not a list of policies", Err: err}
		}
		for _, p := range list {
			if p == nil {
				return &dataerror.Error{Column: policiesKey, Msg: "has an empty policy"}
			}
			known[p.Digest] = p
		}
		return nil
	}
	return rowsOfParquet(s, recordFields, start, func(r *Record) error {
		p, err := policyOf(r, known)
		if err != nil {
			return err
		}
		return use(r, p)
	})
}

// outcomesOfParquet reads the outcomes of a Parquet segment.
func outcomesOfParquet(s *segment, use func(o *Outcome) error) error {
	return rowsOfParquet(s, outcomeFields, func(*parquetfile.File) error { return nil }, func(o *Outcome) error {
		if err := o.checkForm(); err != nil {
			return err
		}
		c := *o
		return use(&c)
	})
}

// spanOfParquet reads the span of a Parquet segment.
func spanOfParquet(s *segment) (*span, error) {
	out := &span{}
	if s.stream == outcomes {
		return out, outcomesOfParquet(s, func(o *Outcome) error {
			out.add(o.ID, hashOf(o.ID), contentOf(o), o.Time)
			return nil
		})
	}
	return out, rowsOfParquet(s, recordFields[:2], func(*parquetfile.File) error { return nil }, func(r *Record) error {
		out.add(r.ID, hashOf(r.ID), 0, r.Time)
		return nil
	})
}
