package tokenizer

// Encoding is the ids of a text or a pair of texts.
type Encoding struct {
	IDs   []int32
	Types []int32 // segment of each id: 0, or 1 if the file sets it for the second text
}
