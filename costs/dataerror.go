package costs

import (
	"pipe/internal/dataerror"
)

// DataError is what is wrong with input data: the file, the line or row and the column, each left out where it does not
// apply, and a message. It is the one type of such errors in all packages. In text files that are tables, Row is the line.
type DataError = dataerror.Error
