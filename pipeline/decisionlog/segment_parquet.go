package decisionlog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/atomicfile"
	"pipe/internal/dataerror"
)

// Keys of the metadata of a Parquet file.
const (
	logKey      = "pipe.log"          // the head of the segment, a JSON object
	policiesKey = "pipe.log.policies" // the policies of its records, a JSON list
)

// Layout of the Parquet files. Row groups are read one at a time.
const (
	groupBytes   = 16 << 20
	maxGroupRows = 1 << 14
	pageBytes    = 1 << 18
)

// parquetWriter writes rows of one stream.
type parquetWriter[T any] struct {
	file    *atomicfile.File
	parquet *parquet.GenericWriter[any]
	fields  []field[T]
	rows    []*T // of the row group being collected
	values  []parquet.Value
}

func newParquetWriter[T any](s *segment, fields []field[T]) (*parquetWriter[T], error) {
	file, err := atomicfile.Create(s.path(parquetEnding))
	if err != nil {
		return nil, err
	}
	root := orderedGroup{Group: parquet.Group{}}
	for _, f := range fields {
		root.Group[f.name] = f.node()
		root.order = append(root.order, f.name)
	}
	options := []parquet.WriterOption{
		parquet.NewSchema(s.stream, root), parquet.PageBufferSize(pageBytes), parquet.CreatedBy("pipe", "1", "0"),
		parquet.SkipPageBounds("features", "list", "element"),
	}
	return &parquetWriter[T]{file: file, parquet: parquet.NewGenericWriter[any](file, options...), fields: fields}, nil
}

// orderedGroup is a group whose columns are not sorted by name.
type orderedGroup struct {
	parquet.Group
	order []string
}

// Fields lists the columns in their order.
func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return slices.Index(g.order, a.Name()) - slices.Index(g.order, b.Name()) })
	return fields
}

// add adds a row; size is about how many bytes a row has.
func (w *parquetWriter[T]) add(row *T, size int) error {
	w.rows = append(w.rows, row)
	if len(w.rows) >= min(maxGroupRows, groupBytes/size) {
		return w.flush()
	}
	return nil
}

// flush writes the rows as one row group.
func (w *parquetWriter[T]) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	columns := w.parquet.ColumnWriters()
	for c := range w.fields {
		if err := w.column(columns[c], c); err != nil {
			return err
		}
	}
	w.rows = w.rows[:0]
	return w.parquet.Flush()
}

// column writes one column of the row group, in blocks of whole rows.
func (w *parquetWriter[T]) column(to *parquet.ColumnWriter, c int) error {
	const block = 4096
	w.values = w.values[:0]
	for _, r := range w.rows {
		w.values = w.fields[c].appendRow(w.values, r, c)
		if len(w.values) >= block {
			if _, err := to.WriteRowValues(w.values); err != nil {
				return err
			}
			w.values = w.values[:0]
		}
	}
	if len(w.values) == 0 {
		return nil
	}
	_, err := to.WriteRowValues(w.values)
	return err
}

// appendRow appends the values of a row with their levels.
func (f *field[T]) appendRow(dst []parquet.Value, r *T, column int) []parquet.Value {
	empty, value := f.levels()
	if f.wide != nil {
		for i, v := range *f.wide(r) {
			dst = append(dst, parquet.FloatValue(v).Level(min(1, i), value, column))
		}
		if len(*f.wide(r)) == 0 {
			dst = append(dst, parquet.NullValue().Level(0, empty, column))
		}
		return dst
	}
	n := 1
	if f.count != nil {
		n = f.count(r)
	}
	switch {
	case n < 0:
		return append(dst, parquet.NullValue().Level(0, 0, column))
	case n == 0:
		return append(dst, parquet.NullValue().Level(0, empty, column))
	}
	for i := range n {
		c := f.get(r, i)
		if c.null {
			dst = append(dst, parquet.NullValue().Level(min(1, i), value-1, column))
			continue
		}
		dst = append(dst, f.value(c).Level(min(1, i), value, column))
	}
	return dst
}

// close writes the metadata and gives the file its name.
func (w *parquetWriter[T]) close(s *segment, policies []*PolicyInfo) error {
	if err := w.flush(); err != nil {
		return err
	}
	about, err := json.Marshal(head{"pipe " + s.stream, headVersion, s.number})
	if err != nil {
		return err
	}
	w.parquet.SetKeyValueMetadata(logKey, string(about))
	if s.stream == decisions {
		list, err := json.Marshal(policies)
		if err != nil {
			return err
		}
		w.parquet.SetKeyValueMetadata(policiesKey, string(list))
	}
	if err := w.parquet.Close(); err != nil {
		return err
	}
	return w.file.CloseAtomicallyReplace()
}

// writeParquet turns the lines of a segment into its Parquet file. Lines that are not whole are left out.
func writeParquet(s *segment) error {
	if s.stream == outcomes {
		return writeRows(s, outcomeFields, func(w *parquetWriter[Outcome]) ([]*PolicyInfo, error) {
			_, err := readLines(s, func(_ lineKind, body []byte) error {
				o, err := readOutcome(body)
				if err != nil {
					return err
				}
				return w.add(o, 256+len(o.Comment))
			})
			return nil, err
		})
	}
	return writeRows(s, recordFields, func(w *parquetWriter[row]) ([]*PolicyInfo, error) {
		var list []*PolicyInfo
		_, err := recordsOfLines(s, func(r *Record, p *PolicyInfo) error {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
			return w.add(&row{*r, p}, 1024+4*len(r.Features)+32*len(r.Propensity))
		})
		return list, err
	})
}

func writeRows[T any](s *segment, fields []field[T], fill func(w *parquetWriter[T]) ([]*PolicyInfo, error)) error {
	w, err := newParquetWriter(s, fields)
	if err != nil {
		return err
	}
	defer w.file.Cleanup()
	policies, err := fill(w)
	if err == nil {
		err = w.close(s, policies)
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", s.path(parquetEnding), err)
	}
	return nil
}

// recordsOfLines reads the records of a segment of lines.
func recordsOfLines(s *segment, use func(r *Record, p *PolicyInfo) error) (Damage, error) {
	known := map[string]*PolicyInfo{}
	return readLines(s, func(kind lineKind, body []byte) error {
		if kind == policyLine {
			p, err := readPolicy(body)
			if err == nil {
				known[p.Digest] = p
			}
			return err
		}
		r, err := readRecord(body)
		if err != nil {
			return err
		}
		p, err := policyOf(r, known)
		if err != nil {
			return err
		}
		return use(r, p)
	})
}

// policyOf returns the policy of a record that was read, after the check of the record.
func policyOf(r *Record, known map[string]*PolicyInfo) (*PolicyInfo, error) {
	p := known[r.Digest]
	if p == nil {
		return nil, &dataerror.Error{Msg: fmt.Sprintf("decision %q is of policy %s, which the segment does not describe", r.ID, r.Digest)}
	}
	return p, r.Check(p)
}
