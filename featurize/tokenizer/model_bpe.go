package tokenizer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// bpe is byte pair encoding. A word begins as single characters. The adjacent
// pair whose merge comes first in the file is joined, until no pair has a
// merge.
type bpe struct {
	vocab   map[string]int32
	merges  map[uint64]merged // by the ids of the pair, left<<32 | right
	bytes   bool              // words are bytes, which byteSpelling spells in the vocabulary
	unknown int32             // -1: unknown characters are dropped
	fuse    bool              // one unknown token for adjacent unknown characters
	whole   bool              // words in the vocabulary are one token (ignore_merges)
	prefix  string            // of characters that continue a word
	suffix  string            // of the character that ends one

	byByte   [256]int32 // ids of the bytes, by position in a word; -1: unknown
	lastByte [256]int32
	fallback [256]int32 // ids of <0x00> to <0xFF>; -1: none
	falls    bool       // unknown characters become these
}

// merged is the result of a merge.
type merged struct{ rank, id int32 }

func pair(left, right int32) uint64 { return uint64(left)<<32 | uint64(right) }

func parseBPE(o *object, bytes bool, vocab *vocabulary) model {
	m := &bpe{
		bytes:  bytes,
		fuse:   fieldOr(o, "fuse_unk", false),
		whole:  fieldOr(o, "ignore_merges", false),
		falls:  fieldOr(o, "byte_fallback", false),
		prefix: fieldOr(o, "continuing_subword_prefix", ""),
		suffix: fieldOr(o, "end_of_word_suffix", ""),
	}
	if dropout := fieldOr(o, "dropout", 0.0); dropout != 0 {
		o.unsupported("dropout", "dropout %v", dropout)
	}
	if bytes && m.falls {
		o.unsupported("byte_fallback", "byte_fallback after the pre-tokenizer ByteLevel")
	}
	vocab.read(o)
	m.vocab = vocab.ids
	m.unknown = vocab.unknown(o, "unk_token")
	m.readMerges(o)
	m.readBytes()
	if m.falls && slices.Contains(m.fallback[:], -1) {
		o.unsupported("byte_fallback", "byte_fallback without a token for every byte")
	}
	return m
}

// readBytes looks up the tokens of single bytes.
func (m *bpe) readBytes() {
	for b := range 256 {
		spelled := string(byteSpelling[b])
		m.byByte[b] = m.id(m.prefix + spelled)
		m.lastByte[b] = m.id(m.prefix + spelled + m.suffix)
		m.fallback[b] = m.id(fmt.Sprintf("<0x%02X>", b))
	}
}

func (m *bpe) id(token string) int32 {
	if id, ok := m.vocab[token]; ok {
		return id
	}
	return -1
}

// readMerges reads the list of pairs. Each is a list of two strings or, in
// older files, one string with a space between them.
func (m *bpe) readMerges(o *object) {
	pairs := readPairs(o)
	m.merges = make(map[uint64]merged, len(pairs))
	for rank, p := range pairs {
		left, right := m.id(p[0]), m.id(p[1])
		if !strings.HasPrefix(p[1], m.prefix) {
			o.fail("merges", "merge %d: %q does not begin with %q", rank, p[1], m.prefix)
			return
		}
		joined := m.id(p[0] + p[1][len(m.prefix):])
		if left < 0 || right < 0 || joined < 0 {
			o.fail("merges", "merge %d: %q, %q or their merge is not in the vocabulary", rank, p[0], p[1])
			return
		}
		m.merges[pair(left, right)] = merged{rank: int32(rank), id: joined}
	}
}

func readPairs(o *object) [][]string {
	raw := o.need("merges")
	if raw == nil {
		return nil
	}
	var pairs [][]string
	if json.Unmarshal(raw, &pairs) != nil {
		var lines []string
		o.decode("merges", raw, &lines)
		pairs = pairs[:0]
		for _, line := range lines {
			pairs = append(pairs, strings.Split(line, " "))
		}
	}
	if i := slices.IndexFunc(pairs, func(p []string) bool { return len(p) != 2 }); i >= 0 {
		o.fail("merges", "merge %d is not a pair of tokens", i)
		return nil
	}
	return pairs
}

// A scratch caches up to remembered words, of up to rememberedLength bytes
// each.
const remembered, rememberedLength = 1 << 15, 48

func (m *bpe) encode(dst []int32, s *scratch, word string) []int32 {
	if len(word) > rememberedLength {
		return m.merge(dst, s, word)
	}
	if ids, ok := s.words[word]; ok {
		return append(dst, ids...)
	}
	start := len(dst)
	dst = m.merge(dst, s, word)
	if s.words == nil || len(s.words) >= remembered {
		s.words = map[string][]int32{}
	}
	s.words[strings.Clone(word)] = slices.Clone(dst[start:])
	return dst
}

func (m *bpe) merge(dst []int32, s *scratch, word string) []int32 {
	if m.whole {
		if id := m.id(m.spell(word)); id >= 0 {
			return append(dst, id)
		}
	}
	s.chain = s.chain[:0]
	if m.bytes {
		m.startBytes(s, word)
	} else {
		m.startRunes(s, word)
	}
	m.join(s)
	for _, sym := range s.chain {
		if !sym.gone {
			dst = append(dst, sym.id)
		}
	}
	return dst
}

// spell spells a word as in the vocabulary.
func (m *bpe) spell(word string) string {
	if !m.bytes {
		return word
	}
	b := make([]byte, 0, 2*len(word))
	for i := range len(word) {
		b = utf8.AppendRune(b, byteSpelling[word[i]])
	}
	return string(b)
}

// startBytes adds a symbol for each byte.
func (m *bpe) startBytes(s *scratch, word string) {
	for i := range len(word) {
		ids := &m.byByte
		if i == len(word)-1 {
			ids = &m.lastByte
		}
		id := ids[word[i]]
		if i == 0 && m.prefix != "" {
			id = m.firstByte(word)
		}
		m.start(s, id)
	}
}

// firstByte is the id of a word's first byte, which has no prefix.
func (m *bpe) firstByte(word string) int32 {
	spelled := string(byteSpelling[word[0]])
	if len(word) == 1 {
		spelled += m.suffix
	}
	return m.id(spelled)
}

// startRunes adds a symbol for each character.
func (m *bpe) startRunes(s *scratch, word string) {
	for i := range word {
		end := i + runeLen(word[i:])
		token := word[i:end]
		if i > 0 {
			token = m.prefix + token
		}
		if end == len(word) {
			token += m.suffix
		}
		id := m.id(token)
		if id < 0 && m.falls {
			m.startFallback(s, token)
			continue
		}
		m.start(s, id)
	}
}

// startFallback adds a symbol for each byte of a token.
func (m *bpe) startFallback(s *scratch, token string) {
	for i := range len(token) {
		m.start(s, m.fallback[token[i]])
	}
}

// start appends a symbol; id -1 means an unknown character.
func (m *bpe) start(s *scratch, id int32) {
	unknown := id < 0
	if unknown {
		last := len(s.chain) - 1
		if m.unknown < 0 || m.fuse && last >= 0 && s.chain[last].unknown {
			return
		}
		id = m.unknown
	}
	s.chain = append(s.chain, symbol{id: id, unknown: unknown})
}
