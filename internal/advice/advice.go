// Package advice adds to an error what the user can do about it.
package advice

// Error is an error with advice.
type Error struct {
	Err    error
	Advice string // one sentence in lower case, such as "remove the file"
}

// With adds advice to an error.
func With(err error, advice string) error { return &Error{err, advice} }

// Error is the message of the error alone.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns the advice.
func (e *Error) Hint() string { return e.Advice }
