package tokenizer

import (
	"fmt"
	"math"
	"slices"
)

// unigram chooses the pieces of a text with the highest sum of scores, which
// are log-probabilities.
type unigram struct {
	pieces   *trie
	ids      map[string]int32
	scores   []float64
	unknown  int32
	penalty  float64 // score of an unknown character
	fallback [256]int32
	falls    bool // unknown characters become bytes, if all their bytes have a token
}

// unknownPenalty is the difference between the lowest score and that of an
// unknown character.
const unknownPenalty = 10

func parseUnigram(o *object, vocab *vocabulary) model {
	m := &unigram{pieces: newTrie(), falls: fieldOr(o, "byte_fallback", false), penalty: math.Inf(1)}
	unknown := fieldOr[*int32](o, "unk_id", nil)
	m.readVocab(o, vocab)
	switch {
	case unknown == nil:
		o.unsupported("unk_id", "a unigram model without an unknown token")
	case *unknown < 0 || int(*unknown) >= len(m.scores):
		o.fail("unk_id", "%d is not in the vocabulary", *unknown)
	default:
		m.unknown = *unknown
	}
	for b := range m.fallback {
		m.fallback[b] = -1
		if id, ok := m.ids[fmt.Sprintf("<0x%02X>", b)]; ok {
			m.fallback[b] = id
		}
	}
	return m
}

// readVocab reads the list of tokens with their scores.
func (m *unigram) readVocab(o *object, vocab *vocabulary) {
	list := field[[][]any](o, "vocab")
	vocab.ids = make(map[string]int32, len(list))
	vocab.tokens = make(map[int32]string, len(list))
	m.ids = vocab.ids
	for i, entry := range list {
		if len(entry) != 2 {
			o.fail("vocab", "entry %d is not a token and a score", i)
			return
		}
		token, isString := entry[0].(string)
		score, isNumber := entry[1].(float64)
		if !isString || !isNumber {
			o.fail("vocab", "entry %d is not a token and a score", i)
			return
		}
		vocab.put(o, token, int32(i))
		m.pieces.insert(token, int32(i))
		m.scores = append(m.scores, score)
		m.penalty = min(m.penalty, score-unknownPenalty)
	}
}

// arrival is the best path to a position in a text.
type arrival struct {
	score float64
	from  int32 // where the last piece begins; -1: no path yet
	id    int32 // the last piece
}

func (m *unigram) encode(dst []int32, s *scratch, text string) []int32 {
	m.search(s, text)
	start := len(dst)
	for end := len(text); end > 0; {
		a := s.best[end]
		if a.id != m.unknown {
			dst = append(dst, a.id)
			end = int(a.from)
			continue
		}
		begin := int(a.from)
		for begin > 0 && s.best[begin].id == m.unknown {
			begin = int(s.best[begin].from)
		}
		dst = m.unknowns(dst, text[begin:end])
		end = begin
	}
	slices.Reverse(dst[start:])
	return dst
}

// search fills s.best for each position in the text, from left to right.
func (m *unigram) search(s *scratch, text string) {
	s.best = append(s.best[:0], arrival{})
	for range len(text) {
		s.best = append(s.best, arrival{from: -1})
	}
	for at := 0; at < len(text); {
		size, single := runeLen(text[at:]), false
		so := s.best[at].score
		node := uint32(0)
		for end := at; end < len(text); {
			if node = m.pieces.step(node, text[end]); node == 0 {
				break
			}
			end++
			id := m.pieces.ids[node]
			if id < 0 {
				continue
			}
			single = single || end == at+size
			s.best[end].offer(arrival{score: m.scores[id] + so, from: int32(at), id: id})
		}
		if !single {
			s.best[at+size].offer(arrival{score: m.penalty + so, from: int32(at), id: m.unknown})
		}
		at += size
	}
}

// offer keeps a path that is the first to its position, or better than the one
// known.
func (a *arrival) offer(b arrival) {
	if a.from < 0 || b.score > a.score {
		*a = b
	}
}

// unknowns appends, in reverse, the ids of characters without a piece. Adjacent
// ones count as one.
func (m *unigram) unknowns(dst []int32, text string) []int32 {
	if id, ok := m.ids[text]; ok {
		return append(dst, id)
	}
	if !m.falls {
		return append(dst, m.unknown)
	}
	start := len(dst)
	for i := len(text) - 1; i >= 0; i-- {
		id := m.fallback[text[i]]
		if id < 0 {
			return append(dst[:start], m.unknown)
		}
		dst = append(dst, id)
	}
	return dst
}
