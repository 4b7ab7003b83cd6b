package storage

import (
	"errors"
	"fmt"
)

// Error is an error of a storage, about the object or bucket that URL names, which has no parameters.
type Error struct {
	Op     string // what was tried: read, write, list, ...
	URL    string
	Err    error
	Advice string // may be empty
}

// Error returns `read "s3://bucket/name": what is wrong`.
func (e *Error) Error() string { return fmt.Sprintf("%s %q: %v", e.Op, e.URL, e.Err) }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns advice for the user.
func (e *Error) Hint() string {
	var inner interface{ Hint() string }
	if e.Advice == "" && errors.As(e.Err, &inner) {
		return inner.Hint()
	}
	return e.Advice
}

// Fault is what is wrong with a storage, as a driver says it: Kind is one of the errors that Bucket names, or nil.
type Fault struct {
	Msg    string
	Kind   error
	Advice string
	// Passing says that the same request may succeed later.
	Passing bool
}

// Error returns the message.
func (f *Fault) Error() string { return f.Msg }

// Unwrap returns the kind.
func (f *Fault) Unwrap() error { return f.Kind }

// Hint returns the advice.
func (f *Fault) Hint() string { return f.Advice }
