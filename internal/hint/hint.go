// Package hint adds to an error what the user can do about it.
package hint

// Error is an error with a hint.
type Error struct {
	Err  error
	Text string // one sentence in lower case, such as "remove the file"
}

// With adds a hint to an error.
func With(err error, text string) error { return &Error{err, text} }

// Error is the message of the error alone.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *Error) Unwrap() error { return e.Err }

// Hint returns the hint.
func (e *Error) Hint() string { return e.Text }
