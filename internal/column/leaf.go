// Package column walks the columns of Parquet files row by row: row groups, rows, lists, nulls and values. It knows what
// the levels of a page mean, so that its callers do not have to. The pages come from internal/parquetfile, which checks
// them; a file with pages that form other rows than a caller expects is an error of that caller.
package column

import (
	"iter"

	"pipe/internal/parquetfile"
)

// Leaf is a column of a file: single values, or one list of them per row.
type Leaf struct {
	*parquetfile.Column
	Name string // of the top-level column, for errors
	// ListDef is the definition level of a list that has an element. One less is an empty list, anything lower a null
	// list. It is 0 if the column has single values.
	ListDef int
}

// Find returns the leaf at or below a top-level column, nil if there is no such column. Its kind is one of kinds; the
// error says what it is otherwise.
func Find(root *parquetfile.Column, name string, list bool, kinds ...parquetfile.Kind) (*Leaf, error) {
	top := root.Child(name)
	if top == nil {
		return nil, nil
	}
	values, listDef, err := top.Find(list, kinds...)
	if err != nil {
		return nil, err
	}
	return &Leaf{Column: values, Name: name, ListDef: listDef}, nil
}

// List reports whether the rows have lists.
func (l *Leaf) List() bool { return l.MaxRep > 0 }

// Group is a row group.
type Group struct {
	File   *parquetfile.File
	Number int // in the file, from 0
	First  int // number of rows before it in the file
	Rows   int // that the metadata of the file declare
}

// Groups goes through the row groups of a file in order.
func Groups(file *parquetfile.File) iter.Seq[Group] {
	return func(yield func(Group) bool) {
		first := 0
		for n := range file.Groups() {
			rows := file.GroupRows(n)
			if !yield(Group{File: file, Number: n, First: first, Rows: rows}) {
				return
			}
			first += rows
		}
	}
}
