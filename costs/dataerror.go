package costs

import (
	"errors"
	"fmt"
	"strings"

	"pipe/internal/textfile"
)

// DataError is what is wrong with input data. It says where: the file, the row
// and the column, each left out where it does not apply.
type DataError struct {
	File   string // path as given by the caller; "" for data that came from memory
	Row    int    // counted from 1; in a text file the line number; 0 if no single row is meant
	Column string // such as "loss" or "loss[3]" (elements count from 0)
	Msg    string
	Err    error // underlying error, may be nil
}

// Error returns `"file": row 7: column loss[3]: msg`.
func (e *DataError) Error() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "%q: ", e.File)
	}
	if e.Row > 0 {
		fmt.Fprintf(&b, "row %d: ", e.Row)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, "column %s: ", e.Column)
	}
	b.WriteString(e.Msg)
	if e.Err != nil {
		if e.Msg != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the underlying error.
func (e *DataError) Unwrap() error { return e.Err }

// TextError is a *DataError for text that cannot be read, and err itself where that is not what is wrong.
func TextError(err error) error {
	var text *textfile.Error
	if !errors.As(err, &text) {
		return err
	}
	return &DataError{File: text.File, Row: text.Line, Column: text.Column, Err: text.Err}
}
