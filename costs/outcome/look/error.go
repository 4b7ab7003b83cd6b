package look

import (
	"fmt"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
)

// UnusableError is about a table from which no policy can be learned as it is.
type UnusableError struct {
	data dataerror.Error
	Do   string // what to record or to change
}

func (e *UnusableError) Error() string { return e.data.Error() }

// Hint says what to do.
func (e *UnusableError) Hint() string { return e.Do }

// Unwrap returns the same as bad data of a file.
func (e *UnusableError) Unwrap() error { return &e.data }

func unusable(file storage.Location, do, format string, args ...any) error {
	return &UnusableError{data: dataerror.Error{File: file.String(), Msg: fmt.Sprintf(format, args...)}, Do: do}
}
