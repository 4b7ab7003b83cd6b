package bm25

import (
	"bytes"
	"hash/maphash"
)

// lexicon numbers words in the order in which they occur. It is a custom hash
// table, since lookups are most of the work of a build. A lookup of a known
// word takes three memory reads.
type lexicon struct {
	seed    maphash.Seed
	slots   []slot // a power of two, at most half of them used
	words   []lexeme
	letters []byte // of all words
}

// slot is empty if number is 0.
type slot struct{ hash, number uint32 } // number is counted from 1

// lexeme is a word and its position in the current page.
type lexeme struct {
	start, end uint32 // in letters
	page       uint32 // the last one with the word, counted from 1
	at         uint32 // its place in the list of occurrences
}

// mostLetters is the capacity of a lexicon.
const mostLetters = 1 << 31

func newLexicon() *lexicon {
	return &lexicon{seed: maphash.MakeSeed(), slots: make([]slot, 1<<10)}
}

// number returns the number of a word. It adds a new word.
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
