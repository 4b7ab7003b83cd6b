package tabular

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/atomicfile"
	"pipe/internal/parallel"
	"pipe/internal/storage"
)

// TableGroupRows is the number of rows of a row group, which a reader has to
// decode to read one row: a few megabytes for some hundred columns. Parts of a
// table that end where a row group ends can be put together without decoding.
const TableGroupRows = 4096

// WriteTable writes the values of all rows of a frame, with the name of the split of each row, as a Parquet file. The
// encoder goes into its metadata. The columns are id, split, label (the name of the label, "" if unknown), group if the
// rows have groups, and one float32 per column of the encoder, NaN if missing. The file is written atomically and
// synced to disk. Its bytes depend on the arguments only.
//
// progress, which may be nil, is called with the number of rows written so far.
func WriteTable(ctx context.Context, path storage.Location, e *Encoder, f *Frame, split []string, progress func(rows int)) error {
	if f.Len() == 0 {
		return fmt.Errorf("write table %q: there are no rows", path)
	}
	return WriteTablePart(ctx, path, e, f, split, progress)
}

// WriteTablePart is WriteTable of a part of a table, which may be without rows.
func WriteTablePart(ctx context.Context, path storage.Location, e *Encoder, f *Frame, split []string, progress func(rows int)) error {
	if err := writeTable(ctx, path, e, f, split, progress); err != nil {
		return fmt.Errorf("write table %q: %w", path, err)
	}
	return nil
}

func writeTable(ctx context.Context, path storage.Location, e *Encoder, f *Frame, split []string, progress func(rows int)) error {
	if len(split) != f.Len() {
		return fmt.Errorf("there are %d splits for %d rows", len(split), f.Len())
	}
	if i := slices.Index(split, ""); i >= 0 {
		return fmt.Errorf("row %d has no split", i+1)
	}
	file, err := atomicfile.CreateAt(ctx, path)
	if err != nil {
		return err
	}
	defer file.Cleanup()
	w := tableWriter{encoder: e, frame: f, split: split, parquet: parquet.NewGenericWriter[any](file, tableOptions(e, f.Groups != nil)...)}
	if err := w.rows(ctx, progress); err != nil {
		return err
	}
	if err := w.parquet.Close(); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

// tableOptions are the options of the Parquet writer. Page bounds are omitted,
// since readers disagree on their meaning if a column has NaN.
func tableOptions(e *Encoder, groups bool) []parquet.WriterOption {
	text := parquet.String()
	coded := parquet.Encoded(text, &parquet.RLEDictionary)
	number := parquet.Encoded(parquet.Leaf(parquet.FloatType), &parquet.Plain)
	root := tableRoot{Group: parquet.Group{}}
	root.add(columnID, parquet.Encoded(text, &parquet.Plain))
	root.add(columnSplit, coded)
	root.add(columnLabel, coded)
	if groups {
		root.add(columnGroup, coded)
	}
	for _, c := range e.fitted.Columns {
		root.add(c.Name, number)
	}
	options := []parquet.WriterOption{
		parquet.NewSchema("table", root),
		parquet.Compression(&parquet.Snappy),
		parquet.PageBufferSize(4 * TableGroupRows), // one page per column of a row group
		parquet.DataPageStatistics(false),
		parquet.CreatedBy("pipe", "1", "0"),
		parquet.KeyValueMetadata(encoderKey, string(e.text)),
	}
	for _, name := range root.order {
		options = append(options, parquet.SkipPageBounds(name))
	}
	return options
}

// tableRoot is a group whose columns keep the order in which they were added.
type tableRoot struct {
	parquet.Group
	order []string
}

func (g *tableRoot) add(name string, node parquet.Node) {
	g.Group[name] = node
	g.order = append(g.order, name)
}

// Fields returns the columns in order.
func (g tableRoot) Fields() []parquet.Field {
	byName := make(map[string]parquet.Field, len(g.order))
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.order))
	for i, name := range g.order {
		fields[i] = byName[name]
	}
	return fields
}

// tableWriter is one call of WriteTable.
type tableWriter struct {
	encoder *Encoder
	frame   *Frame
	split   []string
	parquet *parquet.GenericWriter[any]
	groups  []*parquet.ConcurrentRowGroupWriter // one per core, reused
}

// rows writes the row groups: one per core concurrently, which then go into the
// file in order.
func (w *tableWriter) rows(ctx context.Context, progress func(rows int)) error {
	n, side := w.frame.Len(), runtime.GOMAXPROCS(0)
	for from := 0; from < n; from += side * TableGroupRows {
		to := min(n, from+side*TableGroupRows)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.batch(from, to); err != nil {
			return err
		}
		if progress != nil {
			progress(to)
		}
	}
	return nil
}

func (w *tableWriter) batch(from, to int) error {
	count := (to - from + TableGroupRows - 1) / TableGroupRows
	for len(w.groups) < count {
		w.groups = append(w.groups, w.parquet.BeginRowGroup())
	}
	groups := w.groups[:count]
	err := parallel.Each(context.Background(), count, count, func(_ context.Context, i int) error {
		first := from + i*TableGroupRows
		return w.group(groups[i], first, min(to, first+TableGroupRows))
	})
	if err != nil {
		return err
	}
	for _, g := range groups {
		if _, err := g.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// group fills one row group, column after column.
func (w *tableWriter) group(g *parquet.ConcurrentRowGroupWriter, from, to int) error {
	cells := make([]parquet.Value, to-from)
	b := w.encoder.bind(w.frame)
	for c, writer := range g.ColumnWriters() {
		for row := from; row < to; row++ {
			cells[row-from] = w.cell(b, c, row).Level(0, 0, c)
		}
		if _, err := writer.WriteRowValues(cells); err != nil {
			return err
		}
	}
	return g.Flush()
}

// cell returns a value by the column of the file.
func (w *tableWriter) cell(b *binding, column, row int) parquet.Value {
	if w.frame.Groups != nil {
		if column == len(tableColumns) {
			return parquet.ByteArrayValue([]byte(w.frame.Groups[row]))
		}
		if column > len(tableColumns) {
			column--
		}
	}
	switch column {
	case 0:
		return parquet.ByteArrayValue([]byte(w.frame.IDs[row]))
	case 1:
		return parquet.ByteArrayValue([]byte(w.split[row]))
	case 2:
		return parquet.ByteArrayValue([]byte(w.label(row)))
	}
	return parquet.FloatValue(b.value(column-3, row))
}

func (w *tableWriter) label(row int) string {
	if i := w.frame.Labels[row]; i >= 0 {
		return w.encoder.fitted.Labels[i]
	}
	return ""
}
