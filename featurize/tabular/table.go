package tabular

// encoderKey is the key of the encoder in the metadata of a table file.
const encoderKey = "pipe.encoder"
