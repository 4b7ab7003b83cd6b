package tabular

// The columns that a table file has besides those of the encoder.
const (
	columnID    = "id"
	columnSplit = "split"
	columnLabel = "label"
	columnGroup = "group" // only where rows have groups
)

// EncoderKey is the key of the encoder in the metadata of a table file.
const EncoderKey = "pipe.encoder"
