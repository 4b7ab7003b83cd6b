package featurize

// TextFacts is what a program needs to know, besides tokenizer.json, to make the inputs of a text encoder.
type TextFacts struct {
	MaxLength int              `json:"max_length"`     // most tokens of a text, special ones counted; longer texts are cut
	Lowercase bool             `json:"lowercase"`      // the tokenizer lower-cases texts
	PadID     int32            `json:"pad_id"`         // where texts of several lengths are one batch; its mask is 0
	Special   map[string]int32 `json:"special_tokens"` // ids of the special tokens of tokenizer.json, by name
}

// Facts describes how texts become the inputs of the graph.
func (m *TextModel) Facts() TextFacts {
	return TextFacts{
		MaxLength: m.MaxLength, Lowercase: m.Tokenizer.Lowercases(), PadID: m.Tokenizer.Pad(), Special: m.Tokenizer.Special(),
	}
}
