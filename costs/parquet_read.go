package costs

import (
	"context"
	"errors"
	"fmt"

	"pipe/internal/column"
	"pipe/internal/dataerror"
	"pipe/internal/parallel"
	"pipe/internal/storage"
)

// Read reads a cost tensor, a Parquet file or a folder of part files taken in
// the order of their names, and validates it. The columns are those of
// docs/cost-tensor.md; others are ignored. Bad content gives a *DataError with
// file, row and column.
//
// All row groups and columns are decoded concurrently, each into its place in
// the result.
func Read(ctx context.Context, path storage.Location, o ReadOptions) (*Tensor, error) {
	t, err := read(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("read costs: %w", err)
	}
	return t, nil
}

func read(ctx context.Context, path storage.Location, o ReadOptions) (*Tensor, error) {
	s, err := openSource(ctx, path, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	t := s.blank(s.rows, s.parts[0].cols)
	for _, p := range s.parts[1:] {
		if err := samePresence(s.parts[0], p); err != nil {
			return nil, err
		}
	}
	var tasks []task
	var windows []*Tensor
	for _, g := range s.groups() {
		windows = append(windows, t.window(g.base(), g.Rows))
		for order, read := range g.columns(windows[len(windows)-1]) {
			tasks = append(tasks, task{part: g.part.base, order: order, path: g.part.path, run: read})
		}
	}
	if err := runTasks(tasks); err != nil {
		return nil, err
	}
	if err := t.uniteWindows(windows); err != nil {
		return nil, err
	}
	if t.IDs == nil {
		return t, nil
	}
	if err := badText(colGroup, t.Groups); err != nil {
		return nil, s.locate(err)
	}
	if err := t.checkCells(); err != nil {
		return nil, s.locate(err)
	}
	return t, s.locate(t.checkIDs())
}

// locate turns a row of the tensor into file and row.
func (s *source) locate(err error) error {
	if data, ok := errors.AsType[*DataError](err); ok {
		data.File, data.Row = s.at(data.Row - 1)
	}
	return err
}

// samePresence is an error if one of two parts has an optional column and the
// other has not.
func samePresence(a, b *part) error {
	type presence struct {
		name string
		a, b *column.Leaf
	}
	all := []presence{
		{colID, a.cols.id, b.cols.id},
		{colGroup, a.cols.group, b.cols.group},
		{colTime, a.cols.time, b.cols.time},
		{colFee, a.cols.fee, b.cols.fee},
		{colLabel, a.cols.label, b.cols.label},
		{colPrediction, a.cols.prediction, b.cols.prediction},
		{colPropensity, a.cols.propensity, b.cols.propensity},
	}
	if err := sameFacts(a, b); err != nil {
		return err
	}
	for q, leaf := range a.cols.usage {
		all = append(all, presence{Quantity(q).String(), leaf, b.cols.usage[q]})
	}
	for _, c := range all {
		if (c.a == nil) != (c.b == nil) {
			return &DataError{File: b.path, Column: c.name, Msg: fmt.Sprintf("is in only one of this part and %q", a.path)}
		}
	}
	return nil
}

// blank allocates a tensor of n rows with the columns that the source has.
func (s *source) blank(n int, cols leaves) *Tensor {
	t := &Tensor{Actions: s.actions, Dim: s.dim, Meta: s.meta, Features: make([]float32, n*s.dim)}
	if cols.id != nil {
		t.IDs = make([]string, n)
	}
	if cols.time != nil {
		t.Times = make([]int64, n)
	}
	if cols.split == nil {
		return t
	}
	a := s.actions.Len()
	t.Splits, t.Loss = make([]Split, n), make([]float32, n*a)
	if cols.fee != nil {
		t.Fee = make([]float32, n*a)
	}
	for q, leaf := range cols.usage {
		if leaf != nil {
			t.Usage[q] = make([]float32, n*a)
		}
	}
	if cols.group != nil {
		t.Groups = make([]string, n)
	}
	if cols.label != nil {
		t.Labels = make([]string, n)
	}
	if cols.prediction != nil {
		t.Predictions = make([]string, n*a)
	}
	if cols.propensity != nil {
		t.Propensity = make([]float64, n*a)
	}
	for _, f := range cols.facts {
		t.Facts = append(t.Facts, Facts{Fact: f.Fact, Data: make([]float32, n*a)})
	}
	return t
}

// window returns rows [first, first+n) of t, sharing its memory.
func (t *Tensor) window(first, n int) *Tensor {
	w := &Tensor{Actions: t.Actions, Dim: t.Dim, Meta: t.Meta}
	w.IDs = slice(t.IDs, first, n, 1)
	w.Splits = slice(t.Splits, first, n, 1)
	w.Groups = slice(t.Groups, first, n, 1)
	w.Times = slice(t.Times, first, n, 1)
	w.Labels = slice(t.Labels, first, n, 1)
	w.Features = slice(t.Features, first, n, t.Dim)
	if t.Actions != nil {
		a := t.Actions.Len()
		w.Predictions = slice(t.Predictions, first, n, a)
		w.Loss = slice(t.Loss, first, n, a)
		w.Fee = slice(t.Fee, first, n, a)
		w.Propensity = slice(t.Propensity, first, n, a)
		w.Usage = t.Usage.each(func(values []float32) []float32 { return slice(values, first, n, a) })
		w.Facts = t.eachFact(func(data []float32) []float32 { return slice(data, first, n, a) })
	}
	return w
}

func slice[T any](s []T, first, n, width int) []T {
	if s == nil {
		return nil
	}
	return s[first*width : (first+n)*width : (first+n)*width]
}

// task reads one column of one row group.
type task struct {
	part, order int // the first row of the part in the tensor, and the place among the columns
	path        string
	run         func() error
}

// runTasks runs all tasks on all cores. Of several errors it returns the first
// by part, row and column, so that a file always gives the same error.
func runTasks(tasks []task) error {
	errs := make([]error, len(tasks))
	parallel.Do(len(tasks), func(i int) { errs[i] = dataerror.Guard(tasks[i].path, tasks[i].run) })
	var first error
	var place [3]int
	for i, err := range errs {
		if err == nil {
			continue
		}
		var data *DataError
		here := [3]int{tasks[i].part, 0, tasks[i].order}
		if errors.As(err, &data) {
			here[1] = data.Row
		}
		if first == nil || before(here, place) {
			first, place = err, here
		}
	}
	return first
}

func before(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}
