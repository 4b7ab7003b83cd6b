package build

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"pipe/costs"
)

// parquetRecords reads the top-level columns of a Parquet file. The values of a
// list become the text of a JSON array.
type parquetRecords struct {
	file   *os.File
	groups []parquet.RowGroup
	rows   parquet.Rows
	names  []string
	column []int  // leaf -> top-level column
	list   []bool // top-level column -> repeated
	buffer [64]parquet.Row
	have   int // rows in buffer
	next   int // next of them
	record []string
	line   int
	err    error
}

// openParquetRecords turns a panic of the Parquet library over a damaged file
// into an error; so does Next.
func openParquetRecords(name string) (_ records, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = &costs.DataError{File: name, Msg: fmt.Sprintf("damaged Parquet file: %v", p)}
		}
		if err != nil {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	in, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return nil, &costs.DataError{File: name, Msg: "not a Parquet file", Err: err}
	}
	r := &parquetRecords{file: f, groups: in.RowGroups()}
	for top, field := range in.Schema().Fields() {
		r.names = append(r.names, field.Name())
		r.list = append(r.list, !field.Leaf())
		for range leaves(field) {
			r.column = append(r.column, top)
		}
	}
	return r, nil
}

// leaves counts the leaf columns below a node.
func leaves(n parquet.Node) int {
	if n.Leaf() {
		return 1
	}
	count := 0
	for _, f := range n.Fields() {
		count += leaves(f)
	}
	return count
}

func (r *parquetRecords) Next() (ok bool) {
	defer func() {
		if p := recover(); p != nil {
			r.err, ok = r.fail(fmt.Sprintf("damaged Parquet file: %v", p), nil), false
		}
	}()
	for r.err == nil && r.next == r.have {
		if !r.fill() {
			return false
		}
	}
	if r.err != nil {
		return false
	}
	r.line++
	r.record = r.text(r.buffer[r.next])
	r.next++
	return true
}

// fill reads the next rows, moving on to the next row group at the end of one.
func (r *parquetRecords) fill() bool {
	if r.rows == nil {
		if len(r.groups) == 0 {
			return false
		}
		r.rows, r.groups = r.groups[0].Rows(), r.groups[1:]
	}
	n, err := r.rows.ReadRows(r.buffer[:])
	r.have, r.next = n, 0
	if err == nil || errors.Is(err, io.EOF) {
		if n == 0 || err != nil {
			err = r.rows.Close()
			r.rows = nil
		}
	}
	if err != nil {
		r.err = r.fail("", err)
	}
	return r.err == nil
}

func (r *parquetRecords) fail(msg string, err error) error {
	return &costs.DataError{File: r.file.Name(), Row: r.line + 1, Msg: msg, Err: err}
}

// text renders one row. Values are copied out, since the row is reused.
func (r *parquetRecords) text(row parquet.Row) []string {
	record := make([]string, len(r.names))
	for _, v := range row {
		top := r.column[v.Column()]
		switch {
		case !r.list[top]:
			record[top] = valueText(v)
		case record[top] != "":
			record[top] += "," + valueText(v)
		case !v.IsNull():
			record[top] = "[" + valueText(v)
		}
	}
	for top, list := range r.list {
		if list && record[top] != "" {
			record[top] += "]"
		}
	}
	return record
}

func valueText(v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case v.Kind() == parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32)
	case v.Kind() == parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64)
	}
	return strings.Clone(v.String())
}

func (r *parquetRecords) Record() []string  { return r.record }
func (r *parquetRecords) Line() int         { return r.line }
func (r *parquetRecords) Columns() []string { return r.names }
func (r *parquetRecords) Err() error        { return r.err }

func (r *parquetRecords) Close() error {
	var err error
	if r.rows != nil {
		err = r.rows.Close()
	}
	return errors.Join(err, r.file.Close())
}
