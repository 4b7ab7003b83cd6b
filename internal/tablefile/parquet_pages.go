package tablefile

import (
	"errors"
	"io"
	"math"

	"pipe/internal/outside"
	"pipe/internal/parquetfile"
)

// pageSource reads the pages of one column of a file, over all row groups, into two pieces of memory in turn.
type pageSource struct {
	file   *parquetfile.File
	column *parquetfile.Column
	group  int
	pages  *parquetfile.Pages // nil between row groups
	memory [2]page
	turn   int
}

// pageItem is a page, or the error in its place. After the last one the error is io.EOF, in a group beyond all others.
type pageItem struct {
	page  *page
	group int
	err   error
}

// next returns the next page. After an error it goes on with the next row group.
func (s *pageSource) next() pageItem {
	for ; s.group < s.file.Groups(); s.group++ {
		p, err := outside.Read(s.read)
		if err == nil {
			return pageItem{page: p, group: s.group}
		}
		s.pages = nil
		if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			s.group++
			return pageItem{group: s.group - 1, err: err}
		}
	}
	return pageItem{group: math.MaxInt, err: io.EOF}
}

// read reads the next page of the row group.
func (s *pageSource) read() (*page, error) {
	if s.pages == nil {
		pages, err := s.file.Pages(s.group, s.column)
		if err != nil {
			return nil, err
		}
		s.pages = pages
	}
	p := &s.memory[s.turn]
	if err := s.pages.Read(&p.Page); err != nil {
		return nil, err
	}
	s.turn = 1 - s.turn
	p.group, p.column = s.group, s.column
	p.prepare()
	return p, nil
}

// pageFeed gives the pages of a column by row group.
type pageFeed struct{ items ahead[pageItem] }

func newPageFeed(file *parquetfile.File, c *parquetfile.Column, inBackground bool) *pageFeed {
	s := &pageSource{file: file, column: c}
	return &pageFeed{ahead[pageItem]{next: s.next, off: !inBackground}}
}

// next returns the next page of a row group, io.EOF after its last. Groups are asked for in order; what is left of
// earlier ones is skipped. A page is valid until the next one is returned.
func (f *pageFeed) next(group int) (*page, error) {
	for {
		item := f.items.peek()
		if item.group > group {
			return nil, io.EOF
		}
		f.items.take()
		if item.group == group {
			return item.page, item.err
		}
	}
}
