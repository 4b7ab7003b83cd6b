package grow

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"pipe/costs"
)

// input is a tensor that is read batch by batch, with some columns left out or
// filled.
type input struct {
	path    string
	name    string // in messages and in the metadata of a result
	reader  *costs.Reader
	columns costs.WriterOptions // of the batches
	fillFee bool                // measured fees that the file does not have are 0
	rows    int                 // returned by next
}

func openInput(path string, batch int) (*input, error) {
	r, err := costs.OpenReader(path, costs.ReadOptions{Unknown: true, BatchRows: batch})
	if err != nil {
		return nil, err
	}
	return &input{path: path, name: filepath.Base(path), reader: r, columns: r.Columns()}, nil
}

func (in *input) actions() *costs.Actions { return in.reader.Actions() }

// next returns the next rows, and io.EOF after the last.
func (in *input) next() (*costs.Tensor, error) {
	t, err := in.reader.Next()
	if err != nil {
		return nil, err
	}
	in.rows += t.Len()
	return in.shape(t), nil
}

// shape drops and fills the columns of rows that were read.
func (in *input) shape(t *costs.Tensor) *costs.Tensor {
	for _, c := range optional {
		if !*c.flag(&in.columns) {
			c.drop(t)
		}
	}
	if in.fillFee && t.Fee == nil {
		t.Fee = make([]float32, len(t.Loss))
	}
	return t
}

// fault is an error about row n of the tensor, which counts from 0.
func (in *input) fault(n int, column, format string, args ...any) *costs.DataError {
	file, row := in.reader.At(n)
	return &costs.DataError{File: file, Row: row, Column: column, Msg: fmt.Sprintf(format, args...)}
}

// row reads one row, by its number in the tensor from 0. It opens the file
// again, so it is for errors only.
func (in *input) row(n int) (*costs.Tensor, error) {
	again, err := openInput(in.path, 0)
	if err != nil {
		return nil, err
	}
	defer again.reader.Close()
	again.columns, again.fillFee = in.columns, in.fillFee
	for {
		first := again.rows
		t, err := again.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil, in.fault(n, "", "has changed while it was read")
		case err != nil:
			return nil, err
		case n < again.rows:
			return t.Subset([]int{n - first}), nil
		}
	}
}

// column is an optional column of a tensor.
type column struct {
	name string
	flag func(*costs.WriterOptions) *bool
	drop func(*costs.Tensor)
}

var optional = []column{
	{"group", func(o *costs.WriterOptions) *bool { return &o.Groups }, func(t *costs.Tensor) { t.Groups = nil }},
	{"time", func(o *costs.WriterOptions) *bool { return &o.Times }, func(t *costs.Tensor) { t.Times = nil }},
	{"label", func(o *costs.WriterOptions) *bool { return &o.Labels }, func(t *costs.Tensor) { t.Labels = nil }},
	{"fee", func(o *costs.WriterOptions) *bool { return &o.Fee }, func(t *costs.Tensor) { t.Fee = nil }},
	{"prediction", func(o *costs.WriterOptions) *bool { return &o.Predictions }, func(t *costs.Tensor) { t.Predictions = nil }},
}

// OptionalColumns are the columns of a tensor that Options.Drop may name.
func OptionalColumns() []string {
	var names []string
	for _, c := range optional {
		names = append(names, c.name)
	}
	return names
}

// settleColumns makes the columns of all inputs equal: it drops those that are
// named and fills measured fees. Another column that only some inputs have is an
// error.
func settleColumns(inputs []*input, drop []string, fillFee bool) error {
	for _, name := range drop {
		if !slices.Contains(OptionalColumns(), name) {
			return fmt.Errorf("column %q cannot be left out; those that can are %s", name, strings.Join(OptionalColumns(), ", "))
		}
	}
	for _, c := range optional {
		with, without := divide(inputs, func(in *input) bool { return *c.flag(&in.columns) })
		switch {
		case slices.Contains(drop, c.name):
			for _, in := range with {
				*c.flag(&in.columns) = false
			}
		case len(with) == 0 || len(without) == 0:
		case c.name == "fee" && fillFee:
			for _, in := range without {
				in.columns.Fee, in.fillFee = true, true
			}
		default:
			return onlyInOne(c.name, with[0], without[0])
		}
	}
	return nil
}

func divide(inputs []*input, has func(*input) bool) (with, without []*input) {
	for _, in := range inputs {
		if has(in) {
			with = append(with, in)
		} else {
			without = append(without, in)
		}
	}
	return with, without
}

func onlyInOne(column string, with, without *input) error {
	remedy := "leave it out of the result with --drop " + column + ", or add it to the other file"
	if column == "fee" {
		remedy = "--fill-fee takes 0 for the other file, --drop fee leaves measured fees out of the result"
	}
	return &costs.DataError{File: with.path, Column: column, Msg: fmt.Sprintf("is missing from %q; %s", without.path, remedy)}
}
