package costs

import (
	"errors"

	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// DataError is what is wrong with input data: the file, the line or row and the column, each left out where it does not
// apply, and a message. It is the one type of such errors in all packages. In text files that are tables, Row is the line.
type DataError = dataerror.Error

// TextError is a *DataError for text that cannot be read, and err itself where that is not what is wrong.
func TextError(err error) error {
	var text *textfile.Error
	if !errors.As(err, &text) {
		return err
	}
	return &DataError{File: text.File, Row: text.Line, Column: text.Column, Err: text.Err}
}
