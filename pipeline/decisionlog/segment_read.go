package decisionlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/column"
	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
)

// openParquet opens the Parquet file of a segment and checks that it is one of its stream.
func openParquet(s *segment) (*parquetfile.File, error) {
	f, err := parquetfile.OpenFile(s.path(parquetEnding))
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

// rowsOfParquet calls use with every row of a segment. empty is a row without values.
func rowsOfParquet[T any](s *segment, columns []columnForm, empty T, start func(f *parquetfile.File) error, use func(r *T) error) error {
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
		for g := range column.Groups(f) {
			if g.Rows > maxGroupRows {
				return &dataerror.Error{Msg: fmt.Sprintf("row group %d has %d rows; those of a log have at most %d", g.Number, g.Rows, maxGroupRows)}
			}
			rows := slices.Repeat([]T{empty}, g.Rows)
			for i := range columns {
				if err := columns[i].read(g, reflect.ValueOf(rows)); err != nil {
					return inColumn(columns[i].name, err)
				}
			}
			for i := range rows {
				if err := use(&rows[i]); err != nil {
					return &dataerror.Error{Row: g.First + i + 1, Err: err}
				}
			}
		}
		return nil
	})
}

func inColumn(name string, err error) error {
	if data, ok := errors.AsType[*dataerror.Error](err); ok && data.Column == "" {
		data.Column = name
	}
	return err
}

// columnForm is a column of a segment: its form, and where its values are in rows.
type columnForm struct {
	place
	name   string
	kind   parquetfile.Kind
	maxRep int
	maxDef int
	// listDef is the definition level of a list that has an element, 0 of single values.
	listDef int
}

var (
	recordColumns  = columnsOf[stagedRow](recordFields)
	outcomeColumns = columnsOf[Outcome](outcomeFields)
)

// columnsOf are the columns that the library writes for rows of a type, as far as they are read back.
func columnsOf[Row any](fields []field) (list []columnForm) {
	schema := parquet.SchemaOf(new(Row))
	for i, top := range schema.Fields() {
		p, ok := placeOf(top.Name(), fields)
		if !ok {
			continue
		}
		leaf, _ := schema.Lookup(schema.Columns()[i]...)
		c := columnForm{place: p, name: top.Name(), kind: parquetfile.Kind(leaf.Node.Type().Kind()), maxRep: leaf.MaxRepetitionLevel, maxDef: leaf.MaxDefinitionLevel}
		if c.maxRep > 0 {
			c.listDef = 1
			if top.Optional() {
				c.listDef = 2
			}
		}
		list = append(list, c)
	}
	return list
}

// leaf finds the column of the values and checks its form.
func (c *columnForm) leaf(file *parquetfile.File) (*column.Leaf, error) {
	at := file.Root.Child(c.name)
	if at == nil {
		return nil, &dataerror.Error{Msg: "is missing"}
	}
	for !at.Leaf() {
		if len(at.Children) != 1 {
			return nil, &dataerror.Error{Msg: fmt.Sprintf("is a group of %d columns", len(at.Children))}
		}
		at = at.Children[0]
	}
	if at.Kind != c.kind || at.MaxDef != c.maxDef || at.MaxRep != c.maxRep {
		return nil, &dataerror.Error{Msg: fmt.Sprintf("has values of type %s with levels %d and %d; a log has %s, %d, %d", at.Kind, at.MaxRep, at.MaxDef, c.kind, c.maxRep, c.maxDef)}
	}
	return &column.Leaf{Column: at, Name: c.name, ListDef: c.listDef}, nil
}

// read reads the column of a row group into the rows.
func (c *columnForm) read(g column.Group, rows reflect.Value) error {
	if c.field.later && g.File.Root.Child(c.name) == nil {
		return nil
	}
	leaf, err := c.leaf(g.File)
	if err != nil {
		return err
	}
	cursor := g.Cursor(leaf)
	for run, err := range cursor.Runs() {
		if err != nil {
			return err
		}
		if run.Row < 0 {
			return &dataerror.Error{Msg: "starts inside a row"}
		}
		if last, _ := cursor.Last(); last >= g.Rows {
			return &dataerror.Error{Msg: fmt.Sprintf("has more rows than the %d of its group", g.Rows)}
		}
		c.put(run, rows)
	}
	if last, _ := cursor.Last(); last+1 != g.Rows {
		return &dataerror.Error{Msg: fmt.Sprintf("has %d rows, its group %d", last+1, g.Rows)}
	}
	return nil
}

// put stores the values of a run in the rows. Where the run is null, the value of the empty row stays.
func (c *columnForm) put(run column.Run, rows reflect.Value) {
	if run.Len == 0 || run.State == column.Null && c.listDef == 0 {
		c.putEmpty(run, rows)
		return
	}
	switch at := c.in(rows.Index(run.Row), run.Element).Addr().Interface().(type) {
	case *[]float64:
		*at = append(*at, run.Doubles()...)
	case *[]float32:
		*at = slices.Grow(*at, run.Len)[:len(*at)+run.Len]
		run.CopyFloats((*at)[len(*at)-run.Len:])
	case *[]bool:
		for _, v := range run.Ints() {
			*at = append(*at, v != 0)
		}
	default:
		for i := range run.Len {
			row, element := run.Place(i)
			c.putOne(run, i, rows.Index(row), element)
		}
	}
}

// putEmpty distinguishes an empty list from a missing one, in columns where lists may be missing.
func (c *columnForm) putEmpty(run column.Run, rows reflect.Value) {
	if run.State == column.EmptyList && c.listDef > 1 {
		v := c.in(rows.Index(run.Row), 0)
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
}

// putOne gives a row or an element of its list value i of a run.
func (c *columnForm) putOne(run column.Run, i int, row reflect.Value, element int) {
	if c.field.known != nil {
		row.FieldByIndex(c.field.known).SetBool(true)
	}
	if c.part != nil && c.part.known != nil {
		row.Field(c.field.index).FieldByIndex(c.part.known).SetBool(true)
	}
	switch at := c.in(row, element).Addr().Interface().(type) {
	case *string:
		*at = run.Text(i)
	case *int:
		*at = int(run.Ints()[i])
	case *int64:
		*at = run.Ints()[i]
	case *bool:
		*at = run.Ints()[i] != 0
	case **bool:
		v := run.Ints()[i] != 0
		*at = &v
	case *float64:
		*at = math.NaN()
		if run.State == column.Present {
			*at = run.Doubles()[i]
		}
	case **float64:
		v := run.Doubles()[i]
		*at = &v
	}
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
	return rowsOfParquet(s, recordColumns, Record{Share: ShareUnknown}, start, func(r *Record) error {
		p, err := policyOf(r, known)
		if err != nil {
			return err
		}
		return use(r, p)
	})
}

// outcomesOfParquet reads the outcomes of a Parquet segment.
func outcomesOfParquet(s *segment, use func(o *Outcome) error) error {
	return rowsOfParquet(s, outcomeColumns, Outcome{}, func(*parquetfile.File) error { return nil }, func(o *Outcome) error {
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
	return out, rowsOfParquet(s, recordColumns[:2], Record{}, func(*parquetfile.File) error { return nil }, func(r *Record) error {
		out.add(r.ID, hashOf(r.ID), 0, r.Time)
		return nil
	})
}
