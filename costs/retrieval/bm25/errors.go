package bm25

import "fmt"

// PageError says that the pages that an index is to be made of are at fault.
type PageError struct {
	File string
	Line int // counted from 1; 0 if the file as a whole is meant
	Msg  string
}

// Error returns `"file": line 7: msg`.
func (e *PageError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%q: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%q: line %d: %s", e.File, e.Line, e.Msg)
}

// IndexError says that a file is not an index that this program can use.
type IndexError struct {
	File string
	Msg  string
}

// Error returns `index "file": msg`.
func (e *IndexError) Error() string { return fmt.Sprintf("index %q: %s", e.File, e.Msg) }

// Hint tells the way out.
func (e *IndexError) Hint() string { return "build the index again with pipe index" }
