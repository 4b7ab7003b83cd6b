// Package dataerror defines the error type for bad input data: a file that the user can correct, and the place in it.
// Packages that read data export it as DataError.
package dataerror

import (
	"errors"
	"fmt"
	"strings"

	"pipe/internal/outside"
)

// Error is a problem in input data, with its place: the file, the line or row and the column. Each is omitted if it
// does not apply.
type Error struct {
	File   string // path as the caller gave it; "" for data that came from memory
	Line   int    // line of a text file, counted from 1; 0 if no single line is meant
	Row    int    // row of a table, counted from 1; 0 if no single row is meant or Line is set
	Column string // such as "loss" or "loss[3]" (elements count from 0)
	Msg    string
	Err    error // underlying error, may be nil
}

// Error returns `"file": line 7: column loss[3]: msg`.
func (e *Error) Error() string {
	var parts []string
	add := func(present bool, format string, value any) {
		if present {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	add(e.File != "", "%q", e.File)
	add(e.Line > 0, "line %d", e.Line)
	add(e.Row > 0, "row %d", e.Row)
	add(e.Column != "", "column %s", e.Column)
	add(e.Msg != "", "%s", e.Msg)
	add(e.Err != nil, "%v", e.Err)
	return strings.Join(parts, ": ")
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// InFile returns err with the name of the file, if err is an *Error without one. It does not change err.
func InFile(path string, err error) error {
	if data, ok := errors.AsType[*Error](err); ok && data.File == "" {
		named := *data
		named.File = path
		return &named
	}
	return err
}

// Guard calls read, which reads the content of a file, and adds the file to its errors as InFile does. A panic, which a
// codec library may raise on damaged bytes, becomes an *Error about that file.
func Guard(path string, read func() error) error {
	err := outside.Check(read)
	if _, ok := errors.AsType[*outside.PanicError](err); ok {
		return &Error{File: path, Msg: "cannot be read", Err: err}
	}
	return InFile(path, err)
}
