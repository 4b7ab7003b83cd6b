package tabular

import "pipe/internal/dataerror"

// DataError is what is wrong with input data: the file, the line or row and the column, each left out where it does not
// apply, and a message. It is the one type of such errors in all packages.
type DataError = dataerror.Error
