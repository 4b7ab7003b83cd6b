package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// wordPiece splits a word from the left into the longest pieces of the
// vocabulary.
type wordPiece struct {
	words   map[string]int32
	head    *trie // pieces that begin a word
	tail    *trie // pieces that continue one, without their prefix
	unknown int32
	longest int // characters of the longest word that is split
}

func parseWordPiece(o *object, vocab *vocabulary) model {
	prefix := field[string](o, "continuing_subword_prefix")
	m := &wordPiece{head: newTrie(), tail: newTrie(), longest: field[int](o, "max_input_chars_per_word")}
	vocab.read(o)
	m.words = vocab.ids
	if m.unknown = vocab.unknown(o, "unk_token"); m.unknown < 0 {
		o.fail("unk_token", "is missing")
	}
	for token, id := range vocab.ids {
		m.head.insert(token, id)
		if rest, ok := strings.CutPrefix(token, prefix); ok {
			m.tail.insert(rest, id)
		}
	}
	return m
}

func (m *wordPiece) encode(dst []int32, _ *scratch, word string) []int32 {
	if len(word) > m.longest && utf8.RuneCountInString(word) > m.longest {
		return append(dst, m.unknown)
	}
	if id, ok := m.words[word]; ok {
		return append(dst, id)
	}
	start, pieces := len(dst), m.head
	for word != "" {
		id, n := pieces.longest(word)
		if n == 0 {
			return append(dst[:start], m.unknown)
		}
		dst = append(dst, id)
		word, pieces = word[n:], m.tail
	}
	return dst
}
