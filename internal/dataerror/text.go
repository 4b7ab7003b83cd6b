package dataerror

import (
	"errors"

	"pipe/internal/textfile"
)

// FromText is a *dataerror.Error for text that cannot be read, and err itself where that is not what is wrong.
func FromText(err error) error {
	var text *textfile.Error
	if !errors.As(err, &text) {
		return err
	}
	return &Error{File: text.File, Row: text.Line, Column: text.Column, Err: text.Err}
}
