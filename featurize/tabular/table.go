package tabular

// EncoderKey is the key of the encoder in the metadata of a table file.
const EncoderKey = "pipe.encoder"
