package bm25

import (
	"bytes"
	"hash/maphash"
)

// lexicon numbers words in the order in which they come. It is a table of its own
// because looking words up is most of the work of a build: a known word takes
// three reads of memory.
type lexicon struct {
	seed    maphash.Seed
	slots   []slot // a power of two of them, at most half of which are taken
	words   []lexeme
	letters []byte // of all words
}

// slot is empty if number is 0.
type slot struct{ hash, number uint32 } // number is counted from 1

// lexeme is a word, and where the page in hand has it.
type lexeme struct {
	start, end uint32 // in letters
	page       uint32 // the last one with the word, counted from 1
	at         uint32 // its place in the list of occurrences
}

// mostLetters is how much a lexicon can hold.
const mostLetters = 1 << 31

func newLexicon() *lexicon {
	return &lexicon{seed: maphash.MakeSeed(), slots: make([]slot, 1<<10)}
}

// number returns the number of a word, which is added if it is new.
func (l *lexicon) number(word []byte) uint32 {
	hash := uint32(maphash.Bytes(l.seed, word))
	mask := uint32(len(l.slots) - 1)
	at := hash & mask
	for ; l.slots[at].number != 0; at = (at + 1) & mask {
		if s := l.slots[at]; s.hash == hash && bytes.Equal(l.word(s.number-1), word) {
			return s.number - 1
		}
	}
	n := uint32(len(l.words))
	l.slots[at] = slot{hash, n + 1}
	start := uint32(len(l.letters))
	l.letters = append(l.letters, word...)
	l.words = append(l.words, lexeme{start: start, end: uint32(len(l.letters))})
	if 2*len(l.words) > len(l.slots) {
		l.grow()
	}
	return n
}

func (l *lexicon) grow() {
	old := l.slots
	l.slots = make([]slot, 2*len(old))
	mask := uint32(len(l.slots) - 1)
	for _, s := range old {
		if s.number == 0 {
			continue
		}
		at := s.hash & mask
		for l.slots[at].number != 0 {
			at = (at + 1) & mask
		}
		l.slots[at] = s
	}
}

func (l *lexicon) word(n uint32) []byte {
	w := &l.words[n]
	return l.letters[w.start:w.end]
}
