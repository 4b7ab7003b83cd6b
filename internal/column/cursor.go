package column

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
)

// Cursor walks a column in one row group, a run at a time. The column has single values or one level of lists. A cursor
// has one page in memory, and must not be used concurrently.
type Cursor struct {
	// Width, if it is not 0, is how many elements lists should have. Runs then go over several lists of that length.
	Width int

	leaf    *Leaf
	first   int // rows of the file before the row group
	read    func() (*parquetfile.Page, error)
	page    *parquetfile.Page // nil before the first
	at      int               // entries of the page that were passed
	value   int               // of these, values
	row     int               // of the last entry, -1 before the first
	element int               // elements of its list that were passed
}

// Cursor returns a cursor at the first row of the group. Its errors are those of Pages.Next, about the column.
func (g Group) Cursor(l *Leaf) *Cursor {
	var pages *parquetfile.Pages
	return NewCursor(l, g.First, func() (page *parquetfile.Page, err error) {
		if pages == nil {
			pages, err = g.File.Pages(g.Number, l.Column)
		}
		if err == nil {
			page, err = pages.Next()
		}
		return page, parquetfile.InColumn(l.Name, err)
	})
}

// NewCursor returns a cursor over pages of one row group that read returns in order, and io.EOF after the last. A page is
// used until the next call. first is the number of rows before the group.
func NewCursor(l *Leaf, first int, read func() (*parquetfile.Page, error)) *Cursor {
	return &Cursor{leaf: l, first: first, read: read, row: -1}
}

// Next returns the next run: as many values, or nulls, as are next to each other in the page and in one list, and at most
// most. Of single values, and with a Width, it may have several rows. It is valid until the next call. After the last one
// the error is io.EOF.
func (c *Cursor) Next(most int) (Run, error) {
	if err := c.load(); err != nil {
		return Run{}, err
	}
	r := Run{Row: c.row + 1, Len: min(most, c.page.Len-c.at), width: 1, page: c.page, at: c.value}
	if rep := c.page.Rep; rep != nil {
		if rep[c.at] != 0 {
			r.Row, r.Element = c.row, c.element
		}
		r.Len, r.width = c.lists(rep[c.at : c.at+r.Len])
	}
	if def := c.page.Def; def != nil {
		r.State = c.state(int(def[c.at]))
		r.Len = equal(def[c.at : c.at+r.Len])
	}
	if r.State > Null {
		r.Len = 0
		c.at++
		c.row, c.element = r.Row, r.Element
		return r, nil
	}
	if r.State == Present {
		c.value += r.Len
	}
	c.at += r.Len
	c.row, c.element = r.Place(r.Len - 1)
	c.element++
	return r, nil
}

// lists returns how many entries are of one list, and no width, or of several lists of a width.
func (c *Cursor) lists(rep []byte) (n, width int) {
	const most = 1 << 12 // so that lists of other lengths do not take time
	if w := c.Width; w > 0 && rep[0] == 0 {
		n := min(len(rep), max(w, most)) / w * w
		if n > 0 && bytes.IndexByte(rep[1:w], 0) < 0 && bytes.Equal(rep[w:n], rep[:n-w]) {
			return n, w
		}
	}
	if next := bytes.IndexByte(rep[1:], 0); next >= 0 {
		return next + 1, math.MaxInt
	}
	return len(rep), math.MaxInt
}

// load makes sure that the page has an entry left.
func (c *Cursor) load() error {
	for c.page == nil || c.at == c.page.Len {
		page, err := c.read()
		if err != nil {
			return err
		}
		c.page, c.at, c.value = page, 0, 0
	}
	return nil
}

// equal returns how many of the first levels are the same.
func equal(levels []byte) int {
	n := len(levels)
	if bytes.Equal(levels[1:], levels[:n-1]) {
		return n
	}
	n = 1
	for levels[n] == levels[0] {
		n++
	}
	return n
}

// state says what an entry with a definition level is.
func (c *Cursor) state(def int) State {
	switch {
	case def == c.leaf.MaxDef:
		return Present
	case def >= c.leaf.ListDef:
		return Null
	case def == c.leaf.ListDef-1:
		return EmptyList
	}
	return NullList
}

// Continues reports whether the list of the last run goes on, maybe in the next page: the run is no longer valid.
func (c *Cursor) Continues() (bool, error) {
	switch err := c.load(); {
	case errors.Is(err, io.EOF):
		return false, nil
	case err != nil:
		return false, err
	}
	return c.page.Rep != nil && c.page.Rep[c.at] != 0, nil
}

// Runs goes through the runs that are left, up to an error. The end is no error.
func (c *Cursor) Runs() iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for {
			r, err := c.Next(math.MaxInt)
			if errors.Is(err, io.EOF) || !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Last returns the row of the last entry, from 0, and how many elements of its list were passed; -1 before the first.
func (c *Cursor) Last() (row, elements int) { return c.row, c.element }

// Place is the number of a row of the group in its file, from 1.
func (c *Cursor) Place(row int) int { return c.first + row + 1 }

// Error is an error about value i of a run: with the row and the column, and the element if rows have lists.
func (c *Cursor) Error(r Run, i int, err error) *dataerror.Error {
	row, element := r.Place(i)
	name := c.leaf.Name
	if c.leaf.List() {
		name = fmt.Sprintf("%s[%d]", name, element)
	}
	return &dataerror.Error{Row: c.Place(row), Column: name, Err: err}
}
