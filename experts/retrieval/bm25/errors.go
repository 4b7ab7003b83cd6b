package bm25

import "fmt"

// PageError is an error in the pages of which an index is to be made.
type PageError struct {
	File string
	Line int // counted from 1; 0 for the file as a whole
	Msg  string
}

// Error returns `"file": line 7: msg`.
func (e *PageError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%q: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%q: line %d: %s", e.File, e.Line, e.Msg)
}

// IndexError is returned for a file that is not an index this program can use.
type IndexError struct {
	File string
	Msg  string
}

// Error returns `index "file": msg`.
func (e *IndexError) Error() string { return fmt.Sprintf("index %q: %s", e.File, e.Msg) }

// Hint returns a remedy.
func (e *IndexError) Hint() string { return "build the index again with pipe index" }
