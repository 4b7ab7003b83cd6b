package grow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/digest"
	"pipe/internal/parquetfile"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// input is a tensor that is read batch by batch, with some columns left out or
// filled. It is a file, a folder of parts, or a tensor in memory.
type input struct {
	path    storage.Location
	name    string        // in the metadata of a result
	reader  *costs.Reader // nil in memory
	memory  *costs.Tensor // nil in a file
	actions *costs.Actions
	columns costs.WriterOptions // of the batches
	total   int                 // rows
	time    int64               // for a file without times whose columns shall have them
	rows    int                 // returned by next
}

func openInput(ctx context.Context, path storage.Location, batch int) (*input, error) {
	r, err := costs.OpenReader(ctx, path, costs.ReadOptions{Unknown: true, BatchRows: batch})
	if err != nil {
		return nil, err
	}
	return &input{path: path, name: path.Base(), reader: r, actions: r.Actions(), columns: r.Columns(), total: r.Rows()}, nil
}

func (in *input) close() {
	if in.reader != nil {
		in.reader.Close()
	}
}

// next returns the next rows, and io.EOF after the last.
func (in *input) next() (*costs.Tensor, error) {
	var t *costs.Tensor
	switch {
	case in.reader != nil:
		var err error
		if t, err = in.reader.Next(); err != nil {
			return nil, err
		}
	case in.rows == in.total:
		return nil, io.EOF
	default:
		whole := *in.memory
		t = &whole
	}
	in.rows += t.Len()
	return in.shape(t), nil
}

// shape makes the columns of rows that were read those of the input. Where the
// file has none it fills in a measured fee of 0, usage, propensities and facts
// that are not known, the time, and another group for every row.
func (in *input) shape(t *costs.Tensor) *costs.Tensor {
	for _, c := range optional {
		if !*c.flag(&in.columns) {
			c.drop(t)
		}
	}
	in.shapeFacts(t)
	if in.columns.Fee && t.Fee == nil {
		t.Fee = make([]float32, len(t.Loss))
	}
	for q, wanted := range in.columns.Usage {
		if wanted && t.Usage[q] == nil {
			t.Usage[q] = unknown[float32](len(t.Loss))
		}
	}
	if in.columns.Propensity && t.Propensity == nil {
		t.Propensity = unknown[float64](len(t.Loss))
	}
	if in.columns.Times && t.Times == nil {
		t.Times = slices.Repeat([]int64{in.time}, t.Len())
	}
	if in.columns.Groups && t.Groups == nil {
		for _, id := range t.IDs {
			t.Groups = append(t.Groups, "row "+id)
		}
	}
	return t
}

// unknown has n values that are not known.
func unknown[T float32 | float64](n int) []T { return slices.Repeat([]T{T(math.NaN())}, n) }

// fault is an error about row n of the tensor, which counts from 0.
func (in *input) fault(n int, column, format string, args ...any) *costs.DataError {
	msg := fmt.Sprintf(format, args...)
	if in.reader == nil {
		return &costs.DataError{File: in.path.String(), Column: column, Msg: fmt.Sprintf("instance %s: %s", textfile.Quoted(in.memory.IDs[n]), msg)}
	}
	file, row := in.reader.At(n)
	return &costs.DataError{File: file, Row: row, Column: column, Msg: msg}
}

// place says where row n is.
func (in *input) place(n int) string {
	if in.reader == nil {
		return fmt.Sprintf("%q", in.path)
	}
	file, row := in.reader.At(n)
	return fmt.Sprintf("row %d of %q", row, file)
}

// row reads one row, by its number in the tensor from 0. It opens the file
// again, so it is for errors only.
func (in *input) row(ctx context.Context, n int) (*costs.Tensor, error) {
	if in.reader == nil {
		return in.shape(in.memory.Subset([]int{n})), nil
	}
	again, err := openInput(ctx, in.path, 0)
	if err != nil {
		return nil, err
	}
	defer again.close()
	again.columns, again.time = in.columns, in.time
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

// hasUnknown reports whether an outcome is unknown.
func (in *input) hasUnknown(ctx context.Context) (bool, error) {
	if in.reader == nil {
		return in.memory.UnknownCells() > 0, nil
	}
	n, err := costs.CountUnknown(ctx, in.path)
	return n > 0, err
}

// digest identifies the content: the digest of the file or of the files of the
// folder, or that of a tensor in memory.
func (in *input) digest(ctx context.Context) (string, error) {
	if in.reader == nil {
		return "tensor:" + in.memory.Digest(), nil
	}
	files, _, err := parquetfile.Parts(ctx, in.path)
	if err != nil {
		return "", err
	}
	if len(files) == 1 && files[0] == in.path {
		return costs.FileDigest(ctx, in.path)
	}
	var lines strings.Builder
	for _, file := range files {
		sum, err := costs.FileDigest(ctx, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, file.Base())
	}
	return digest.Of([]byte(lines.String())), nil
}

// column is an optional column of a tensor.
type column struct {
	name string
	flag func(*costs.WriterOptions) *bool
	drop func(*costs.Tensor)
}

var optional = append([]column{
	{"group", func(o *costs.WriterOptions) *bool { return &o.Groups }, func(t *costs.Tensor) { t.Groups = nil }},
	{"time", func(o *costs.WriterOptions) *bool { return &o.Times }, func(t *costs.Tensor) { t.Times = nil }},
	{"label", func(o *costs.WriterOptions) *bool { return &o.Labels }, func(t *costs.Tensor) { t.Labels = nil }},
	{"fee", func(o *costs.WriterOptions) *bool { return &o.Fee }, func(t *costs.Tensor) { t.Fee = nil }},
	{"prediction", func(o *costs.WriterOptions) *bool { return &o.Predictions }, func(t *costs.Tensor) { t.Predictions = nil }},
	{propensity, func(o *costs.WriterOptions) *bool { return &o.Propensity }, func(t *costs.Tensor) { t.Propensity = nil }},
}, quantities()...)

const propensity = "propensity"

// mayLack reports whether a column of a file without it is filled with unknown values.
func mayLack(name string) bool {
	return name == propensity || slices.ContainsFunc(quantities(), func(c column) bool { return c.name == name })
}

func quantities() (all []column) {
	for q := range costs.Quantities {
		all = append(all, column{q.String(), func(o *costs.WriterOptions) *bool { return &o.Usage[q] }, func(t *costs.Tensor) { t.Usage[q] = nil }})
	}
	return all
}

// CheckDrop says why MergeOptions.Drop may not name a column, or a key of the
// metadata.
func CheckDrop(name string) error {
	names := []string{costs.MoneyKey, costs.PricesKey}
	for _, c := range optional {
		names = append(names, c.name)
	}
	if slices.Contains(names, name) || strings.HasPrefix(name, costs.FactPrefix) {
		return nil
	}
	return fmt.Errorf("%q cannot be left out; what can is %s, and facts such as %slabel", name, strings.Join(names, ", "), costs.FactPrefix)
}
