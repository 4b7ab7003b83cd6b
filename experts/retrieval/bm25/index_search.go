package bm25

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Hit is a page that was found.
type Hit struct {
	Page   string  `json:"page"` // its id
	Number int     `json:"number"`
	Score  float64 `json:"score"`
}

// Search returns at most top pages for a query, best first; ties in the order
// of their ids. Pages without any word of the query are never returned.
func (x *Index) Search(query string, top int) ([]Hit, error) {
	return x.AppendHits(nil, query, top)
}

// AppendHits appends what Search returns.
func (x *Index) AppendHits(dst []Hit, query string, top int) ([]Hit, error) {
	if top <= 0 {
		return dst, nil
	}
	s := x.spares.Get().(*searcher)
	defer x.spares.Put(s)
	err := x.use(func(m *mapping) error {
		if err := s.start(m, query, top); err != nil {
			return err
		}
		if err := s.run(); err != nil {
			return err
		}
		for _, f := range s.best {
			id, _, err := m.page(int(f.page))
			if err != nil {
				return err
			}
			dst = append(dst, Hit{string(id), int(f.page), f.score})
		}
		return nil
	})
	s.file = nil
	return dst, err
}

// searcher is the state of one search. It iterates over the postings of all
// words in parallel, in the order of pages, and skips pages that cannot be
// among the best (MaxScore: Turtle and Flood, Query evaluation: strategies and
// optimizations, 1995).
type searcher struct {
	index    *Index
	file     *mapping
	analyzer analyzer
	query    []byte
	pool     []*cursor
	words    []*cursor // words of the query, by ascending bound
	sums     []float64 // sums[i]: largest score of a page for words[:i+1]
	parts    []float64 // scores of the current page, by position in the query
	best     []found   // best first
	top      int
}

// found is a page among the best so far.
type found struct {
	page  uint32
	score float64
}

func newSearcher(x *Index) *searcher {
	return &searcher{index: x, analyzer: analyzer{settings: x.header.Settings}}
}

// start opens the words of a query.
func (s *searcher) start(m *mapping, query string, top int) (err error) {
	s.file, s.top, s.best, s.words = m, top, s.best[:0], s.words[:0]
	s.query = append(s.query[:0], query...)
	s.analyzer.words(s.query, func(word []byte) {
		if err == nil {
			err = s.add(word)
		}
	})
	if err != nil {
		return err
	}
	s.sums, s.parts = s.sums[:0], s.parts[:0]
	for _, c := range s.words {
		c.weight = float64(c.weight * s.index.header.idf(uint32(c.pages)))
		c.bound *= c.weight
		s.parts = append(s.parts, 0)
	}
	slices.SortStableFunc(s.words, func(a, b *cursor) int { return cmp.Compare(a.bound, b.bound) })
	sum := 0.0
	for _, c := range s.words {
		sum += c.bound
		s.sums = append(s.sums, sum)
	}
	return nil
}

// add opens a word, or counts a repeated word. Until all words are added,
// weight is the number of occurrences in the query and bound is the bound on
// tf/(tf+norm).
func (s *searcher) add(word []byte) error {
	at, found, err := search(s.index.header.Distinct, word, s.file.word)
	if err != nil || !found {
		return err
	}
	entry, err := s.file.bytes(dictionarySection, int64(at)*dictionaryEntry, int64(at+2)*dictionaryEntry)
	if err != nil {
		return err
	}
	start := int64(binary.LittleEndian.Uint64(entry))
	for _, c := range s.words {
		if c.start == start {
			c.weight++
			return nil
		}
	}
	if len(s.words) == len(s.pool) {
		s.pool = append(s.pool, &cursor{})
	}
	c := s.pool[len(s.words)]
	c.start, c.weight, c.place = start, 1, len(s.words)
	c.pages = int(binary.LittleEndian.Uint32(entry[8:]))
	c.bound = float64(math.Float32frombits(binary.LittleEndian.Uint32(entry[12:])))
	c.limit = uint32(s.index.header.Pages)
	c.damage = s.file.damage
	if c.pages == 0 || c.pages > s.index.header.Pages {
		return s.file.damage(dictionarySection, -1)
	}
	list, err := s.file.bytes(postingsSection, start, int64(binary.LittleEndian.Uint64(entry[dictionaryEntry:]))+slack)
	if err != nil {
		return err
	}
	s.words = append(s.words, c)
	return c.open(list)
}

// word returns a word of the dictionary.
func (m *mapping) word(number int) ([]byte, error) {
	at := int64(number) * dictionaryEntry
	entries, err := m.bytes(dictionarySection, at, at+2*dictionaryEntry)
	if err != nil {
		return nil, err
	}
	from, to := binary.LittleEndian.Uint64(entries[16:]), binary.LittleEndian.Uint64(entries[dictionaryEntry+16:])
	return m.bytes(wordsSection, int64(from), int64(to))
}

// rounding exceeds the rounding error from adding the parts of a score in
// another order than their bounds.
const rounding = 1 + 1e-9

// run finds the best pages. From now on, only pages with at least one of
// words[first:] can be among the best.
func (s *searcher) run() error {
	first := 0
	lengths := s.file.section(lengthsSection)
	for first < len(s.words) {
		page := uint32(none)
		for _, c := range s.words[first:] {
			page = min(page, c.page)
		}
		if page == none {
			return nil
		}
		length, err := s.length(lengths, page)
		if err != nil {
			return err
		}
		score, possible, err := s.judge(first, page, s.index.norms.of(length))
		if err != nil {
			return err
		}
		if possible && s.keep(page, score) {
			for first < len(s.words) && s.sums[first]*rounding <= s.threshold() {
				first++
			}
		}
	}
	return nil
}

// threshold is the score that a page must exceed: later pages have higher ids
// and lose ties.
func (s *searcher) threshold() float64 {
	if len(s.best) < s.top {
		return 0
	}
	return s.best[len(s.best)-1].score
}

// judge scores a page and advances the words that are before it. It returns
// false as soon as the page cannot be among the best.
func (s *searcher) judge(first int, page uint32, norm float64) (score float64, possible bool, err error) {
	clear(s.parts)
	sum := 0.0
	for _, c := range s.words[first:] {
		if c.page != page {
			continue
		}
		part := c.score(norm)
		s.parts[c.place] = part
		sum += part
		if err := c.next(); err != nil {
			return 0, false, err
		}
	}
	threshold := s.threshold()
	for i := first - 1; i >= 0; i-- {
		c := s.words[i]
		if (sum+s.sums[i])*rounding <= threshold {
			return 0, false, nil
		}
		if c.page < page {
			block := c.seekBlock(page)
			if block < c.blocks && (sum+s.below(i)+c.most(block))*rounding <= threshold {
				return 0, false, nil // without unpacking the block
			}
			if err := c.seek(page); err != nil {
				return 0, false, err
			}
		}
		if c.page == page {
			part := c.score(norm)
			s.parts[c.place] = part
			sum += part
		}
	}
	score = 0
	for _, part := range s.parts {
		score += part
	}
	return score, true, nil
}

// below is the largest score of a page for the words before one.
func (s *searcher) below(i int) float64 {
	if i == 0 {
		return 0
	}
	return s.sums[i-1]
}

// keep adds a page to the best if it is one of them. It reports whether the
// threshold may have changed.
func (s *searcher) keep(page uint32, score float64) bool {
	if len(s.best) == s.top && score <= s.threshold() {
		return false
	}
	if len(s.best) == s.top {
		s.best = s.best[:s.top-1]
	}
	at := len(s.best)
	for at > 0 && s.best[at-1].score < score {
		at--
	}
	s.best = slices.Insert(s.best, at, found{page, score})
	return len(s.best) == s.top
}

// length returns the words of a page.
func (s *searcher) length(lengths []byte, page uint32) (uint32, error) {
	at := int64(page) * 4
	if !s.file.good[s.file.first[lengthsSection]+int(at/chunkLen)].Load() {
		if err := s.file.check(lengthsSection, int(at/chunkLen)); err != nil {
			return 0, err
		}
	}
	return binary.LittleEndian.Uint32(lengths[at:]), nil
}
