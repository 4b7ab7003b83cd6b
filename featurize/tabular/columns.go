package tabular

// The columns that a table file has besides those of the encoder.
const (
	columnID    = "id"
	columnSplit = "split"
	columnLabel = "label"
	columnGroup = "group" // only where rows have groups
)

// tableColumns are those that every table file has, in order.
var tableColumns = []string{columnID, columnSplit, columnLabel}
