package bm25

import (
	"fmt"

	"pipe/internal/dataerror"
)

// PageError is an error in the pages of which an index is to be made.
type PageError = dataerror.Error

// IndexError is returned for a file that is not an index this program can use.
type IndexError struct {
	File string
	Msg  string
}

// Error returns `index "file": msg`.
func (e *IndexError) Error() string { return fmt.Sprintf("index %q: %s", e.File, e.Msg) }

// Hint returns a remedy.
func (e *IndexError) Hint() string { return "build the index again with pipe index" }
