package costs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Layout of the files we write. Row groups are decoded concurrently, so a large
// tensor should have many of them. They are small, so that a small batch of
// decisions needs little memory. Floats are stored plain and uncompressed:
// embeddings do not compress, and reading is then a copy.
const (
	groupBytes   = 8 << 20
	minGroupRows = 1 << 10
	maxGroupRows = 1 << 16
	pageBytes    = 1 << 18
)

// WriterOptions fixes the columns that every batch of a Writer has.
type WriterOptions struct {
	Dim         int               // features per row
	Groups      bool              // there are groups
	Times       bool              // there are times
	Fee         bool              // there are measured fees
	Usage       UsageFlags        // quantities that there are
	Labels      bool              // there are labels
	Predictions bool              // there are predictions
	Propensity  bool              // there are propensities
	Facts       []Fact            // facts that there are, sorted by name; their values, if any, are not looked at
	Unknown     bool              // outcomes may be unknown: elements of loss and fee may be null
	Meta        map[string]string // further metadata of the file
}

// Writer writes a cost tensor batch by batch. The file appears under its name
// only when Close succeeds. Its bytes depend on the content only, not on how it
// was divided into batches.
type Writer struct {
	file    *atomicfile.File
	path    string
	parquet *parquet.GenericWriter[any]
	actions *Actions
	options WriterOptions
	pending *Tensor         // rows of the row group being collected, without facts
	facts   []pendingFact   // of these rows
	rows    int             // rows per row group
	ids     *textfile.Names // of the batches that were appended
	written int             // rows
	values  []parquet.Value
	err     error
	closed  bool
}

// NewWriter starts a file. The caller must call Close or Abort.
func NewWriter(ctx context.Context, path storage.Location, actions *Actions, o WriterOptions) (*Writer, error) {
	w, err := newWriter(ctx, path, actions, o)
	if err != nil {
		return nil, fmt.Errorf("write costs %q: %w", path, err)
	}
	return w, nil
}

func newWriter(ctx context.Context, path storage.Location, actions *Actions, o WriterOptions) (*Writer, error) {
	if err := actions.Validate(); err != nil {
		return nil, err
	}
	if o.Dim <= 0 {
		return nil, fmt.Errorf("dimension of the features is %d", o.Dim)
	}
	if d := actions.Features.Dim; d != 0 && d != o.Dim {
		return nil, fmt.Errorf("rows have %d features, but the actions declare %d", o.Dim, d)
	}
	if _, ok := o.Meta[ActionsKey]; ok {
		return nil, fmt.Errorf("metadata key %q is reserved for the actions", ActionsKey)
	}
	// In the same folder, so that the final rename cannot cross file systems.
	file, err := atomicfile.CreateAt(ctx, path)
	if err != nil {
		return nil, err
	}
	options := []parquet.WriterOption{
		schema(o),
		parquet.PageBufferSize(pageBytes),
		parquet.DataPageStatistics(false),
		parquet.SkipPageBounds(colFeatures, "list", "element"),
		parquet.SkipPageBounds(colLoss, "list", "element"),
		parquet.CreatedBy("pipe", "1", "0"),
		parquet.KeyValueMetadata(ActionsKey, string(actions.JSON())),
	}
	for _, key := range slices.Sorted(maps.Keys(o.Meta)) {
		options = append(options, parquet.KeyValueMetadata(key, o.Meta[key]))
	}
	var facts []Fact // nil where there are none, as in batches
	for _, f := range o.Facts {
		facts = append(facts, f.bare())
	}
	o.Facts = facts
	return &Writer{
		file: file, path: path.String(), parquet: parquet.NewGenericWriter[any](file, options...),
		actions: actions, options: o,
		pending: &Tensor{Actions: actions, Dim: o.Dim},
		rows:    max(minGroupRows, min(maxGroupRows, groupBytes/(4*o.Dim))),
		facts:   make([]pendingFact, len(o.Facts)),
		ids:     textfile.NewIndex(0),
	}, nil
}

// schema has the columns in the order of the contract. No column is optional in
// the files we write, so they need no definition levels; only unknown outcomes
// do.
func schema(o WriterOptions) *parquet.Schema {
	text := parquet.String()
	coded := parquet.Encoded(text, &parquet.RLEDictionary)
	float := parquet.Encoded(parquet.Leaf(parquet.FloatType), &parquet.Plain)
	floats, cells := parquet.List(float), parquet.List(float)
	if o.Unknown {
		cells = parquet.List(parquet.Optional(float))
	}
	root := orderedGroup{Group: parquet.Group{}}
	add := func(name string, node parquet.Node, wanted bool) {
		if wanted {
			root.Group[name] = node
			root.order = append(root.order, name)
		}
	}
	add(colID, parquet.Encoded(text, &parquet.Plain), true)
	add(colSplit, coded, true)
	add(colGroup, coded, o.Groups)
	add(colTime, parquet.Encoded(parquet.Timestamp(parquet.Microsecond), &parquet.Plain), o.Times)
	add(colLabel, coded, o.Labels)
	add(colFeatures, floats, true)
	add(colLoss, cells, true)
	add(colFee, cells, o.Fee)
	for q, wanted := range o.Usage {
		add(Quantity(q).String(), parquet.List(parquet.Optional(float)), wanted)
	}
	double := parquet.Encoded(parquet.Leaf(parquet.DoubleType), &parquet.Plain)
	add(colPropensity, parquet.List(parquet.Optional(double)), o.Propensity)
	add(colPrediction, parquet.List(coded), o.Predictions)
	for _, f := range o.Facts {
		values := float
		if f.Category() {
			values = coded
		}
		add(f.Column(), parquet.List(parquet.Optional(values)), true)
	}
	return parquet.NewSchema("costs", root)
}

// orderedGroup is a group whose columns are not sorted by name.
type orderedGroup struct {
	parquet.Group
	order []string
}

func (g orderedGroup) Fields() []parquet.Field {
	fields := g.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(g.order, a.Name()) - slices.Index(g.order, b.Name())
	})
	return fields
}

// Append adds the rows of a batch, which must have the columns that the options
// promise and the same actions. A rejected batch leaves the writer unchanged;
// after any other error only Abort may be called.
func (w *Writer) Append(batch *Tensor) error {
	switch {
	case w.closed:
		return errors.New("append costs: writer is closed")
	case w.err != nil:
		return w.err
	}
	if err := w.check(batch); err != nil {
		return fmt.Errorf("append costs: %w", err)
	}
	return w.add(batch)
}

// add appends the rows of a batch that was checked.
func (w *Writer) add(batch *Tensor) error {
	w.written += batch.Len()
	for first := 0; first < batch.Len(); {
		n := min(batch.Len()-first, w.rows-w.pending.Len())
		w.extend(batch.window(first, n))
		first += n
		if w.pending.Len() == w.rows {
			if w.err = w.flush(); w.err != nil {
				return w.err
			}
		}
	}
	return nil
}

func (w *Writer) check(batch *Tensor) error {
	if err := batch.validate(w.options.Unknown); err != nil {
		return err
	}
	if err := w.actions.SameSet(batch.Actions); err != nil {
		return fmt.Errorf("batch has other actions: %w", err)
	}
	o := w.options
	have := optionsOf(batch, o.Unknown)
	have.Meta = o.Meta
	if !reflect.DeepEqual(have.Facts, o.Facts) {
		return fmt.Errorf("batch has the facts %s; the file %s", factNames(have.Facts), factNames(o.Facts))
	}
	if !reflect.DeepEqual(have, o) {
		return fmt.Errorf("batch has dimension %d, group %t, time %t, fee %t, usage %t, label %t, prediction %t, propensity %t; the file %d, %t, %t, %t, %t, %t, %t, %t",
			have.Dim, have.Groups, have.Times, have.Fee, have.Usage, have.Labels, have.Predictions, have.Propensity,
			o.Dim, o.Groups, o.Times, o.Fee, o.Usage, o.Labels, o.Predictions, o.Propensity)
	}
	for n, id := range batch.IDs {
		if w.ids.Find(id) >= 0 {
			return &DataError{Row: n + 1, Column: colID, Msg: fmt.Sprintf("%q is a duplicate: it was already written", id)}
		}
	}
	for _, id := range batch.IDs {
		if _, err := w.ids.Add(id); err != nil {
			return err
		}
	}
	return nil
}

// optionsOf returns the options of a file with the columns of t.
func optionsOf(t *Tensor, unknown bool) WriterOptions {
	return WriterOptions{
		Dim: t.Dim, Groups: t.Groups != nil, Times: t.Times != nil, Fee: t.Fee != nil, Usage: t.Usage.flags(), Labels: t.Labels != nil,
		Predictions: t.Predictions != nil, Propensity: t.Propensity != nil, Facts: bareFacts(t.Facts), Unknown: unknown, Meta: t.Meta,
	}
}

// extend appends rows to the pending ones.
func (w *Writer) extend(rows *Tensor) {
	w.pending.extend(rows)
	for i, f := range rows.Facts {
		w.facts[i].extend(f)
	}
}

// extend appends the rows of o, which has the same columns, but for its facts.
func (t *Tensor) extend(o *Tensor) {
	t.IDs = append(t.IDs, o.IDs...)
	t.Splits = append(t.Splits, o.Splits...)
	t.Groups = append(t.Groups, o.Groups...)
	t.Times = append(t.Times, o.Times...)
	t.Labels = append(t.Labels, o.Labels...)
	t.Predictions = append(t.Predictions, o.Predictions...)
	t.Features = append(t.Features, o.Features...)
	t.Loss = append(t.Loss, o.Loss...)
	t.Fee = append(t.Fee, o.Fee...)
	for q, values := range o.Usage {
		t.Usage[q] = append(t.Usage[q], values...)
	}
	t.Propensity = append(t.Propensity, o.Propensity...)
}

// clear drops all rows and keeps the memory.
func (t *Tensor) clear() {
	t.IDs, t.Splits, t.Groups, t.Times = t.IDs[:0], t.Splits[:0], t.Groups[:0], t.Times[:0]
	t.Labels, t.Predictions, t.Propensity = t.Labels[:0], t.Predictions[:0], t.Propensity[:0]
	t.Features, t.Loss, t.Fee = t.Features[:0], t.Loss[:0], t.Fee[:0]
	t.Usage = t.Usage.each(func(values []float32) []float32 { return values[:0] })
}

// flush writes the pending rows as one row group.
func (w *Writer) flush() error {
	g := groupWrite{columns: w.parquet.ColumnWriters(), rows: w.pending.Len(), values: w.values}
	p, a := w.pending, w.actions.Len()
	g.text(p.IDs)
	g.put(1, false, func(i int) parquet.Value { return textValue(p.Splits[i].String()) })
	if w.options.Groups {
		g.text(p.Groups)
	}
	if w.options.Times {
		g.times(p.Times)
	}
	if w.options.Labels {
		g.text(p.Labels)
	}
	g.floats(p.Features, p.Dim)
	g.cells(p.Loss, a, w.options.Unknown)
	if w.options.Fee {
		g.cells(p.Fee, a, w.options.Unknown)
	}
	for q, wanted := range w.options.Usage {
		if wanted {
			g.cells(p.Usage[q], a, true)
		}
	}
	if w.options.Propensity {
		valuesOrNull(&g, p.Propensity, a, parquet.DoubleValue)
	}
	if w.options.Predictions {
		g.put(a, true, func(i int) parquet.Value { return textValue(p.Predictions[i]) })
	}
	for i, f := range w.options.Facts {
		w.facts[i].flush(f, &g, a)
	}
	w.values = g.values
	if g.err == nil {
		g.err = w.parquet.Flush()
	}
	if g.err != nil {
		return fmt.Errorf("write costs %q: %w", w.path, g.err)
	}
	p.clear()
	return nil
}

// Close writes the pending rows and moves the complete, durable file to its
// path. A file without rows is an error. After an error no file is left.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	err := w.err
	if err == nil && w.pending.Len() > 0 {
		err = w.flush()
	}
	if err == nil && w.written == 0 {
		err = fmt.Errorf("write costs %q: %w", w.path, &DataError{Msg: "there are no rows"})
	}
	if err == nil {
		if err = w.parquet.Close(); err != nil {
			err = fmt.Errorf("write costs %q: %w", w.path, err)
		}
	}
	if err != nil {
		w.Abort()
		w.err = err
		return err
	}
	w.closed = true
	defer w.file.Cleanup()
	err = w.file.CloseAtomicallyReplace()
	if err != nil {
		w.err = fmt.Errorf("write costs %q: %w", w.path, err)
	}
	return w.err
}

// Abort discards the file. It does nothing after Close or another Abort.
func (w *Writer) Abort() {
	if !w.closed {
		w.closed = true
		w.file.Cleanup()
	}
}

// Write writes a tensor as one file, which appears only when it is complete.
// Unknown outcomes are written as nulls.
func Write(ctx context.Context, path storage.Location, t *Tensor) error {
	if err := t.ValidatePartial(); err != nil {
		return fmt.Errorf("write costs %q: %w", path, err)
	}
	w, err := NewWriter(ctx, path, t.Actions, t.Columns())
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.add(t); err != nil {
		return err
	}
	return w.Close()
}

// Columns returns the columns that the tensor has, with the metadata: what a
// Writer needs to write it.
func (t *Tensor) Columns() WriterOptions { return optionsOf(t, t.UnknownCells() > 0) }
