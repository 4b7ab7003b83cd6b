package part

import (
	"context"
	"errors"
	"io"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// EachRow reads a table row by row. choose returns the columns that are wanted, in
// any order, each as often as it likes and "" where it wants none; row gets their
// cells in that order, "" for "", and the line or number of the row. What it keeps
// of them it copies, and counts; its error is about this row. The other columns of
// the file may hold anything.
func EachRow(ctx context.Context, file storage.Location, choose func(*Columns) ([]string, error), row func(cells []string, line int) error) error {
	r, err := tablefile.OpenText(ctx, file)
	if err != nil {
		return err
	}
	defer r.Close()
	names, err := choose(NewColumns(file, r.Columns()))
	if err != nil {
		return err
	}
	distinct, at := Distinct(names)
	if err := r.Choose(distinct...); err != nil {
		return err
	}
	cells := make([]string, len(names))
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		read, line, err := r.Next()
		if errors.Is(err, io.EOF) && n == 0 {
			return &costs.DataError{File: file.String(), Msg: "there are no rows"}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for i, from := range at {
			if from >= 0 {
				cells[i] = read[from]
			}
		}
		if err := row(cells, line); err != nil {
			return InRow(file.String(), line, err)
		}
	}
}

// InRow makes a data error of an error without a position.
func InRow(file string, line int, err error) error {
	if fault, ok := err.(*textfile.Fault); ok {
		return &costs.DataError{File: file, Row: line, Err: fault}
	}
	return err
}

// Distinct returns the names that are not empty once each, and where among
// them each name is, -1 for "".
func Distinct(names []string) (distinct []string, at []int) {
	place := make(map[string]int, len(names))
	at = make([]int, len(names))
	for i, name := range names {
		p, known := place[name]
		switch {
		case name == "":
			p = -1
		case !known:
			p = len(distinct)
			place[name], distinct = p, append(distinct, name)
		}
		at[i] = p
	}
	return distinct, at
}
