package featurize

import (
	"fmt"
	"strings"
)

// DataError is what is wrong with a table that was read. It says where, each
// part left out where it does not apply.
type DataError struct {
	File   string // path as the caller gave it
	Line   int    // line of a text file, counted from 1; 0 if no single line is meant
	Row    int    // row of a Parquet file, counted from 1; 0 if none or if Line says it
	Column string // column of the table
	Msg    string
	Err    error // underlying error, may be nil
}

// Error returns `"file": line 7: column dist1: msg`.
func (e *DataError) Error() string {
	var parts []string
	if e.File != "" {
		parts = append(parts, fmt.Sprintf("%q", e.File))
	}
	if e.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", e.Line))
	}
	if e.Row > 0 {
		parts = append(parts, fmt.Sprintf("row %d", e.Row))
	}
	if e.Column != "" {
		parts = append(parts, "column "+e.Column)
	}
	if e.Msg != "" {
		parts = append(parts, e.Msg)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the underlying error.
func (e *DataError) Unwrap() error { return e.Err }
