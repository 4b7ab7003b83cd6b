package costs

import (
	"fmt"

	"pipe/internal/dataerror"
)

// DataError is an error in input data: a message with the file, the line or row, and the column, each omitted where it
// does not apply. All packages use this type for such errors. In tables that are text files, Row is the line.
type DataError = dataerror.Error

// cellError is about value i of rows of the given width.
func cellError(column string, i, width int, msg string) error {
	return &DataError{Row: i/width + 1, Column: fmt.Sprintf("%s[%d]", column, i%width), Msg: msg}
}
