package dataerror

import (
	"errors"

	"pipe/internal/textfile"
)

// FromText turns an error that wraps a *textfile.Error into a *dataerror.Error and returns other errors unchanged.
func FromText(err error) error {
	var text *textfile.Error
	if !errors.As(err, &text) {
		return err
	}
	return &Error{File: text.File, Row: text.Line, Column: text.Column, Err: text.Err}
}
