package tabular

// The columns that a table file has in addition to those of the encoder.
const (
	columnID    = "id"
	columnSplit = "split"
	columnLabel = "label"
	columnGroup = "group" // only if rows have groups
)

// tableColumns are the columns of every table file, in order.
var tableColumns = []string{columnID, columnSplit, columnLabel}
