package tablefile

import (
	"errors"
	"fmt"
	"io"
	"math"

	"pipe/internal/column"
	"pipe/internal/finite"
	"pipe/internal/parquetfile"
)

// stream reads one column of a file.
type stream interface {
	// ready returns how many of the next rows of a row group it can give at once: 1 to most.
	ready(group, most int) (int, error)
	// take gives n of them, valid until the next call of ready.
	take(n int) Column
	// stop ends what runs in the background.
	stop()
}

// openStream opens a column. With ahead its pages are decoded in the background, one ahead.
func openStream(file *parquetfile.File, c *parquetfile.Column, ahead bool) stream {
	feed := newPageFeed(file, c, ahead)
	if c.MaxRep > 0 {
		// Elements are taken for optional, as most writers make them.
		return &listStream{feed: feed, leaf: &column.Leaf{Column: c, ListDef: c.MaxDef - 1}}
	}
	return &scalarStream{feed: feed}
}

// scalarStream reads a column of scalars.
type scalarStream struct {
	feed *pageFeed
	page *page // nil before the first
	at   int   // rows of the page given so far
}

func (s *scalarStream) ready(group, most int) (int, error) {
	for s.page == nil || s.at == s.page.Len || s.page.group < group {
		p, err := s.feed.next(group)
		if err != nil {
			return 0, unexpected(err)
		}
		s.page, s.at = p, 0
	}
	if s.at == s.page.bad {
		return 0, notUTF8(s.page.Text(s.page.at(s.at)))
	}
	return min(most, s.page.bad-s.at), nil
}

func (s *scalarStream) take(n int) Column {
	c := Column{page: s.page, from: s.at}
	s.at += n
	return c
}

func (s *scalarStream) stop() { s.feed.items.stop() }

// listStream reads a column of lists.
type listStream struct {
	feed   *pageFeed
	leaf   *column.Leaf
	group  int
	cursor *column.Cursor // of the row group; nil before the first
	floats []float32
	ends   []int  // of the lists in floats, -1 for a list that is null
	cells  []Cell // lists that were read
	given  int    // of these
	err    error  // after them
}

// A stream of lists stops reading at one of these numbers of rows and values.
const (
	listRows    = 1 << 10
	listNumbers = 1 << 18
)

func (s *listStream) ready(group, most int) (int, error) {
	if s.cursor == nil || s.group != group {
		s.group = group
		s.cursor = column.NewCursor(s.leaf, 0, s.page)
	}
	if s.given == len(s.cells) && s.err == nil {
		s.fill(most)
	}
	if s.given == len(s.cells) {
		err := s.err
		s.err = nil
		return 0, err
	}
	return min(most, len(s.cells)-s.given), nil
}

func (s *listStream) take(n int) Column {
	c := Column{cells: s.cells[s.given:], step: 1}
	s.given += n
	return c
}

func (s *listStream) stop() { s.feed.items.stop() }

// fill reads rows, at most most, until there are enough or one is wrong.
func (s *listStream) fill(most int) {
	s.floats, s.ends, s.cells, s.given = s.floats[:0], s.ends[:0], s.cells[:0], 0
	for len(s.ends) < min(most, listRows) && len(s.floats) < listNumbers && s.err == nil {
		s.err = s.row()
	}
	from := 0
	for _, end := range s.ends {
		if end < 0 {
			s.cells = append(s.cells, Cell{})
			continue
		}
		s.cells = append(s.cells, Cell{kind: listCell, list: s.floats[from:end:end]})
		from = end
	}
}

// page returns the next page of the row group.
func (s *listStream) page() (*parquetfile.Page, error) {
	p, err := s.feed.next(s.group)
	if err != nil {
		return nil, err
	}
	return &p.Page, nil
}

// row reads one list.
func (s *listStream) row() error {
	for n, more := 0, true; more; {
		run, err := s.cursor.Next(math.MaxInt)
		switch {
		case err != nil:
			return unexpected(err)
		case run.State > column.Null && n == 0:
			s.ends = append(s.ends, -1) // the list itself is null
			return nil
		case run.State != column.Present:
			return fmt.Errorf("element %d is null", n)
		}
		if err := s.add(run, n); err != nil {
			return err
		}
		n += run.Len
		if more, err = s.cursor.Continues(); err != nil {
			return err
		}
	}
	s.ends = append(s.ends, len(s.floats))
	return nil
}

// add appends values, the first of which is element n.
func (s *listStream) add(run column.Run, n int) error {
	if s.leaf.Kind == parquetfile.Float && finite.First(run.Floats()) < 0 {
		s.floats = append(s.floats, run.Floats()...)
		return nil
	}
	values, first := run.Values()
	for i := range run.Len {
		if s.leaf.Kind == parquetfile.ByteArray && !acceptable(s.leaf.Column, run.Text(i)) {
			return notUTF8(run.Text(i))
		}
		c := valueCell(s.leaf.Column, values, first+i)
		f, err := c.Float()
		if err != nil {
			return fmt.Errorf("element %d: %w", n+i, err)
		}
		s.floats = append(s.floats, float32(f))
	}
	return nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("has fewer rows than the metadata says")
	}
	return err
}
