package costs

import (
	"errors"

	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// TextError is a *dataerror.Error for text that cannot be read, and err itself where that is not what is wrong.
func TextError(err error) error {
	var text *textfile.Error
	if !errors.As(err, &text) {
		return err
	}
	return &dataerror.Error{File: text.File, Row: text.Line, Column: text.Column, Err: text.Err}
}
