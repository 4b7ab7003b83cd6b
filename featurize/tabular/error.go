package tabular

import "pipe/internal/dataerror"

// DataError describes a problem of input data: the file, the line or row, the column and a message. Parts that do not
// apply are omitted. All packages use this type for such errors.
type DataError = dataerror.Error
