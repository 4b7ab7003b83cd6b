package tablefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"

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
		return &listStream{feed: feed, column: c}
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
	column *parquetfile.Column
	group  int
	page   *page // nil before the first
	at     int   // values and nulls of the page read so far
	value  int   // of these, values
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
	s.group = group
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

// row reads one list.
func (s *listStream) row() error {
	if _, _, err := s.more(); err != nil {
		return unexpected(err)
	}
	for n := 0; ; {
		rep, def, err := s.more()
		if errors.Is(err, io.EOF) || err == nil && n > 0 && rep == 0 {
			s.ends = append(s.ends, len(s.floats))
			return nil
		}
		if err != nil {
			return err
		}
		if run := s.run(n); run > 0 {
			n += run
			continue
		}
		at := s.value
		s.at++
		if max := s.column.MaxDef; def < max {
			if n == 0 && def < max-1 {
				s.ends = append(s.ends, -1) // the list itself is null
				return nil
			}
			return fmt.Errorf("element %d is null", n)
		}
		s.value++
		if err := s.add(n, at); err != nil {
			return err
		}
		n++
	}
}

// add appends value at of the page, which is element n.
func (s *listStream) add(n, at int) error {
	if s.column.Kind == parquetfile.ByteArray && !s.page.acceptable(s.page.Text(at)) {
		return notUTF8(s.page.Text(at))
	}
	c := s.page.value(at)
	f, err := c.Float()
	if err != nil {
		return fmt.Errorf("element %d: %w", n, err)
	}
	s.floats = append(s.floats, float32(f))
	return nil
}

// run reads the elements of the list that are in this page, if they are all finite float32 numbers, and returns how many
// these are. n elements were read before.
func (s *listStream) run(n int) int {
	p := s.page
	if s.column.Kind != parquetfile.Float {
		return 0
	}
	length := p.Len - s.at
	skip := 0
	if n == 0 {
		skip = 1 // the first element begins the row
	}
	if next := bytes.IndexByte(p.Rep[s.at+skip:], 0); next >= 0 {
		length = next + skip
	}
	if bytes.Count(p.Def[s.at:s.at+length], []byte{byte(s.column.MaxDef)}) < length {
		return 0
	}
	values := p.Floats[s.value : s.value+length]
	if finite.First(values) >= 0 {
		return 0
	}
	s.floats = append(s.floats, values...)
	s.at, s.value = s.at+length, s.value+length
	return length
}

// more makes sure that the page has a value left and returns its levels. After the last value of the row group it
// returns io.EOF.
func (s *listStream) more() (rep, def int, err error) {
	for s.page == nil || s.page.group < s.group || s.at == s.page.Len {
		p, err := s.feed.next(s.group)
		if err != nil {
			return 0, 0, err
		}
		s.page, s.at, s.value = p, 0, 0
	}
	def = s.column.MaxDef
	if s.page.Def != nil {
		def = int(s.page.Def[s.at])
	}
	return int(s.page.Rep[s.at]), def, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("has fewer rows than the metadata says")
	}
	return err
}
