package bm25

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"pipe/experts/retrieval/pagename"
)

// block holds pages in memory until they are written as a run.
type block struct {
	analyzer analyzer
	data     []byte // id and text of every page, one after the other
	pages    []blockPage
	lexicon  *lexicon
	list     []occurrence // of all pages, one page after the other
}

// blockPage is a page in a block.
type blockPage struct {
	start, text, end int // offsets in data of the id, of the text, and of the end
	list             int // end of its occurrences
	words            uint32
	place            place
}

// place is the position of a page in the input.
type place struct{ file, line uint32 }

// occurrence is a word on a page.
type occurrence struct{ word, count uint32 }

func newBlock(s Settings) *block {
	return &block{analyzer: analyzer{settings: s}, lexicon: newLexicon()}
}

// add adds a page.
func (b *block) add(p Page, at place) {
	page := blockPage{start: len(b.data), place: at}
	b.data = append(b.data, p.ID...)
	page.text = len(b.data)
	b.data = append(b.data, p.Text...)
	page.end = len(b.data)
	number := uint32(len(b.pages) + 1)
	count := func(times int) func([]byte) {
		return func(word []byte) {
			b.count(word, uint32(times), number)
			page.words += uint32(times)
		}
	}
	if times := b.analyzer.settings.Title; times > 0 {
		b.analyzer.words([]byte(pagename.Title(p.ID)), count(times))
	}
	b.analyzer.words(b.data[page.text:page.end], count(1))
	page.list = len(b.list)
	b.pages = append(b.pages, page)
}

// count counts a word of the page with the given number.
func (b *block) count(word []byte, times, page uint32) {
	n := b.lexicon.number(word)
	seen := &b.lexicon.words[n]
	if seen.page == page {
		b.list[seen.at].count += times
		return
	}
	seen.page, seen.at = page, uint32(len(b.list))
	b.list = append(b.list, occurrence{n, times})
}

// full reports whether the block, with the memory to write it, takes about the
// given number of bytes, or cannot hold more.
func (b *block) full(memory int64) bool {
	return b.size() > memory || len(b.lexicon.letters) > mostLetters || len(b.list) > math.MaxInt32
}

func (b *block) size() int64 {
	const perWord, perPage, perOccurrence = 44, 60, 16
	return int64(len(b.data)+len(b.lexicon.letters)) + perWord*int64(len(b.lexicon.words)) + perPage*int64(len(b.pages)) + perOccurrence*int64(len(b.list))
}

// run is the location of a block in a file.
type run struct {
	file             io.ReaderAt
	pagesAt, wordsAt int64
	end              int64
	pages, words     int
	bytes            int64 // of ids and texts
	total            int64 // words of all pages
	occurrences      int64
}

// write appends the block to a spill file: pages in the order of their ids,
// then words in their order, each with its pages, numbered by their position in
// that order.
func (b *block) write(to *spill) (*run, error) {
	r := &run{
		file: to.file, pagesAt: to.size, pages: len(b.pages), words: len(b.lexicon.words),
		bytes: int64(len(b.data)), occurrences: int64(len(b.list)),
	}
	order := make([]uint32, len(b.pages))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(i, j uint32) int {
		p, q := &b.pages[i], &b.pages[j]
		return cmp.Or(bytes.Compare(b.data[p.start:p.text], b.data[q.start:q.text]), cmp.Compare(i, j))
	})
	w := bufio.NewWriterSize(to, 1<<18)
	for _, i := range order {
		r.total += int64(b.pages[i].words)
		b.writePage(w, &b.pages[i])
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	r.wordsAt = to.size
	b.writeWords(w, order)
	err := w.Flush()
	r.end = to.size
	return r, err
}

// writePage writes five numbers (lengths of id and text, words, file, line), id
// and text. The writer keeps its first error.
func (b *block) writePage(w *bufio.Writer, p *blockPage) {
	writePage(w, b.data[p.start:p.text], b.data[p.text:p.end], p.words, p.place)
}

func writePage(w *bufio.Writer, id, text []byte, words uint32, at place) {
	head := w.AvailableBuffer()
	for _, v := range []uint64{uint64(len(id)), uint64(len(text)), uint64(words), uint64(at.file), uint64(at.line)} {
		head = binary.AppendUvarint(head, v)
	}
	w.Write(head)
	w.Write(id)
	w.Write(text)
}

// writeWords writes, for every word, its length, its bytes, the number of its
// pages, and for each the gap to the one before and the count.
func (b *block) writeWords(w *bufio.Writer, order []uint32) {
	starts, sorted := b.byWord(order)
	words := make([]uint32, len(b.lexicon.words))
	for n := range words {
		words[n] = uint32(n)
	}
	slices.SortFunc(words, func(i, j uint32) int { return bytes.Compare(b.lexicon.word(i), b.lexicon.word(j)) })
	for _, n := range words {
		list := sorted[starts[n]:starts[n+1]]
		word := b.lexicon.word(n)
		head := append(binary.AppendUvarint(w.AvailableBuffer(), uint64(len(word))), word...)
		w.Write(binary.AppendUvarint(head, uint64(len(list))))
		last := uint32(0)
		for _, o := range list {
			pair := binary.AppendUvarint(w.AvailableBuffer(), uint64(o.page-last))
			w.Write(binary.AppendUvarint(pair, uint64(o.count)))
			last = o.page
		}
	}
}

// onPage is a page with a word.
type onPage struct{ page, count uint32 }

// byWord sorts the occurrences by word, and those of a word by page in the given
// order: those of word n are sorted[starts[n]:starts[n+1]].
func (b *block) byWord(order []uint32) (starts []int, sorted []onPage) {
	starts = make([]int, len(b.lexicon.words)+1)
	for _, o := range b.list {
		starts[o.word+1]++
	}
	for n := range b.lexicon.words {
		starts[n+1] += starts[n]
	}
	next := slices.Clone(starts)
	sorted = make([]onPage, len(b.list))
	for place, i := range order {
		from := 0
		if i > 0 {
			from = b.pages[i-1].list
		}
		for _, o := range b.list[from:b.pages[i].list] {
			sorted[next[o.word]] = onPage{uint32(place), o.count}
			next[o.word]++
		}
	}
	return starts, sorted
}
