package featurize

import (
	"fmt"
	"slices"

	"pipe/featurize/tokenizer"
	"pipe/onnx/hf"
)

// end is hf.Config.End of the tower in use.
func (f *textFolder) end() int64 {
	if f.tower != hf.TowerText || f.config.ModelType == "" {
		return hf.NoEnd
	}
	return f.config.End
}

// textTokens are the options of the tokenizer for every text of a model.
func (m *TextModel) textTokens() tokenizer.Options {
	return tokenizer.Options{Special: m.Tokenizer.Defaults().Special, MaxLength: m.MaxLength}
}

// checkEnd rejects a tokenizer that does not end texts as the model expects,
// such as that of another model: all texts would get nearly the same vector.
func (m *TextModel) checkEnd() error {
	err := checkEnd(m.Tokenizer.Encode("a photo of a cat", m.textTokens()).IDs, m.end)
	if err != nil {
		return fmt.Errorf("the tokenizer does not match the model: a text %w", err)
	}
	return nil
}

// checkEnd reports ids whose first token with the id of the end is not the last.
func checkEnd(ids []int32, end int64) error {
	if end == hf.NoEnd || len(ids) == 0 {
		return nil
	}
	last := len(ids) - 1
	switch {
	case end == hf.LargestEnd:
		if slices.Index(ids, slices.Max(ids)) != last {
			return fmt.Errorf("ends with token %d, but the model takes the largest id, %d, as the end of the text", ids[last], slices.Max(ids))
		}
	case int64(ids[last]) != end:
		return fmt.Errorf("ends with token %d, but the model's end token is %d", ids[last], end)
	case slices.Index(ids, int32(end)) != last:
		return fmt.Errorf("has the end token, %d, in the middle", end)
	}
	return nil
}

// Excess is how many tokens of a text, special ones counted, are over MaxLength
// and would be cut off.
func (m *TextModel) Excess(text string) int {
	o := m.textTokens()
	o.MaxLength = 0
	return max(0, len(m.Tokenizer.Encode(text, o).IDs)-m.MaxLength)
}
