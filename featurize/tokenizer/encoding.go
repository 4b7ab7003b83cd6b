package tokenizer

// Encoding is one text, or a pair of texts, as ids.
type Encoding struct {
	IDs   []int32
	Types []int32 // segment of each id: 0, or 1 where the file says so for the second text
}
