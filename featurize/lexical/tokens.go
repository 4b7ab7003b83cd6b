package lexical

import (
	"bytes"
	"encoding/json"

	"pipe/featurize/tokenizer"
)

// The first tokens of every vocabulary. Their rows are zero.
const (
	padToken     = "[PAD]"
	unknownToken = "[UNK]" // a word with a character that has no piece
	textToken    = "[CLS]" // begins every text, so that one without words has a token
)

const (
	continuing  = "##" // begins pieces that do not begin a word
	longestWord = 200  // characters; a longer word is unknown
)

// tokenizerFile is a tokenizer.json of Hugging Face for the vocabulary, whose ids are the positions. Texts become lower
// case in form NFKC and are split at white space and punctuation.
func tokenizerFile(vocabulary []string) ([]byte, error) {
	ids := make(map[string]int, len(vocabulary))
	for id, token := range vocabulary {
		ids[token] = id
	}
	type object map[string]any
	list := []object{
		{"type": "NFKC"},
		{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": false, "strip_accents": false, "lowercase": true},
	}
	text := object{"SpecialToken": object{"id": textToken, "type_id": 0}}
	first, second := object{"Sequence": object{"id": "A", "type_id": 0}}, object{"Sequence": object{"id": "B", "type_id": 0}}
	file := object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": []object{},
		"normalizer":    object{"type": "Sequence", "normalizers": list},
		"pre_tokenizer": object{"type": "BertPreTokenizer"},
		"post_processor": object{
			"type": "TemplateProcessing", "single": []object{text, first}, "pair": []object{text, first, second},
			"special_tokens": object{textToken: object{"id": textToken, "ids": []int{ids[textToken]}, "tokens": []string{textToken}}},
		},
		"decoder": object{"type": "WordPiece", "prefix": continuing, "cleanup": true},
		"model": object{
			"type": "WordPiece", "unk_token": unknownToken, "continuing_subword_prefix": continuing,
			"max_input_chars_per_word": longestWord, "vocab": ids,
		},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(file)
	return b.Bytes(), err
}

// splitter is the tokenizer without a vocabulary, for Words.
func splitter() (*tokenizer.Tokenizer, error) {
	file, err := tokenizerFile([]string{padToken, unknownToken, textToken})
	if err != nil {
		return nil, err
	}
	return tokenizer.Parse(file)
}
