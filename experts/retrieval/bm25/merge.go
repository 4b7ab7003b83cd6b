package bm25

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// readBuffer is how much of a run is read at a time.
const readBuffer = 1 << 18

// runPages reads the pages of a run in their order.
type runPages struct {
	run   int // index among the runs
	left  int
	in    *bufio.Reader
	id    []byte
	text  []byte
	words uint32
	place place
}

func newRunPages(index int, r *run) *runPages {
	part := io.NewSectionReader(r.file, r.pagesAt, r.wordsAt-r.pagesAt)
	return &runPages{run: index, left: r.pages, in: bufio.NewReaderSize(part, readBuffer)}
}

// next reads a page; it returns false after the last one.
func (r *runPages) next() (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	r.left--
	var head [5]uint64
	for i := range head {
		var err error
		if head[i], err = binary.ReadUvarint(r.in); err != nil {
			return false, err
		}
	}
	r.words, r.place = uint32(head[2]), place{uint32(head[3]), uint32(head[4])}
	r.id = slices.Grow(r.id[:0], int(head[0]))[:head[0]]
	if _, err := io.ReadFull(r.in, r.id); err != nil {
		return false, err
	}
	r.text = slices.Grow(r.text[:0], int(head[1]))[:head[1]]
	_, err := io.ReadFull(r.in, r.text)
	return true, err
}

// before is the order in which pages are numbered. Pages with equal ids are in
// the order in which they were read.
func (r *runPages) before(o *runPages) bool {
	return cmp.Or(bytes.Compare(r.id, o.id), cmp.Compare(r.place.file, o.place.file), cmp.Compare(r.place.line, o.place.line)) < 0
}

// runWords reads the words of a run in their order.
type runWords struct {
	run   int
	left  int
	in    *bufio.Reader
	word  []byte
	pages int // number of pages with the word; each is read with next
}

func newRunWords(index int, r *run) *runWords {
	part := io.NewSectionReader(r.file, r.wordsAt, r.end-r.wordsAt)
	return &runWords{run: index, left: r.words, in: bufio.NewReaderSize(part, readBuffer)}
}

// next reads a word.
func (r *runWords) next() (bool, error) {
	if r.left == 0 {
		return false, nil
	}
	r.left--
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return false, err
	}
	r.word = slices.Grow(r.word[:0], int(n))[:n]
	if _, err := io.ReadFull(r.in, r.word); err != nil {
		return false, err
	}
	n, err = binary.ReadUvarint(r.in)
	r.pages = int(n)
	return true, err
}

// appendPages reads the pages of the word; each is numbered by numbers and
// becomes number<<32 | count.
func (r *runWords) appendPages(dst []uint64, numbers []uint32) ([]uint64, error) {
	page := uint64(0)
	for range r.pages {
		gap, err := binary.ReadUvarint(r.in)
		if err != nil {
			return dst, err
		}
		count, err := binary.ReadUvarint(r.in)
		if err != nil {
			return dst, err
		}
		page += gap
		dst = append(dst, uint64(numbers[page])<<32|count)
	}
	return dst, nil
}

func (r *runWords) before(o *runWords) bool {
	return cmp.Or(bytes.Compare(r.word, o.word), cmp.Compare(r.run, o.run)) < 0
}

// sorted is a cursor over a sorted sequence.
type sorted[T any] interface {
	next() (bool, error)
	before(T) bool
}

// merge is a heap of cursors: the first one has the smallest element.
type merge[T sorted[T]] []T

// newMerge starts the cursors.
func newMerge[T sorted[T]](cursors []T) (merge[T], error) {
	var m merge[T]
	for _, c := range cursors {
		more, err := c.next()
		if err != nil {
			return nil, err
		}
		if more {
			m = append(m, c)
		}
	}
	for i := len(m)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m, nil
}

// advance advances the first cursor.
func (m *merge[T]) advance() error {
	h := *m
	more, err := h[0].next()
	if err != nil {
		return err
	}
	if !more {
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
		*m = h
	}
	if len(h) > 0 {
		h.down(0)
	}
	return nil
}

func (m merge[T]) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m); child++ {
			if m[child].before(m[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m[i], m[least] = m[least], m[i]
		i = least
	}
}

// twice is the error of two pages with the same id.
func (s *source) twice(id []byte, first, again place) error {
	return &PageError{
		File: s.files[again.file].String(), Line: int(again.line),
		Msg: fmt.Sprintf("duplicate page %q, first in line %d of %q", id, first.line, s.files[first.file]),
	}
}
