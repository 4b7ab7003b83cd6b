package costs

import (
	"pipe/internal/dataerror"
)

// DataError is an error in input data: a message with the file, the line or row, and the column, each omitted where it
// does not apply. All packages use this type for such errors. In tables that are text files, Row is the line.
type DataError = dataerror.Error
