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
// most. Of single values it has several rows. It is valid until the next call. After the last one the error is io.EOF.
func (c *Cursor) Next(most int) (Run, error) {
	if err := c.load(); err != nil {
		return Run{}, err
	}
	end := c.page.Len
	if most < end-c.at {
		end = c.at + most
	}
	list := c.page.Rep != nil
	if list {
		if c.page.Rep[c.at] == 0 {
			c.row, c.element = c.row+1, 0
		}
		if next := bytes.IndexByte(c.page.Rep[c.at+1:end], 0); next >= 0 {
			end = c.at + 1 + next
		}
	} else {
		c.row++
	}
	r := Run{Row: c.row, Element: c.element, page: c.page, at: c.value}
	if c.page.Def != nil {
		levels := c.page.Def[c.at:end]
		end = c.at + equal(levels)
		r.State = c.state(int(levels[0]))
	}
	n := end - c.at
	c.at = end
	switch {
	case r.State > Null:
		return r, nil // a list without elements
	case r.State == Present:
		c.value += n
	}
	r.Len = n
	if list {
		c.element += n
	} else {
		c.row += n - 1
	}
	return r, nil
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
	const block = 64
	n := 1
	for n+block <= len(levels) && bytes.Equal(levels[n:n+block], levels[n-1:n-1+block]) {
		n += block
	}
	for n < len(levels) && levels[n] == levels[n-1] {
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

// Place is the number of a row of the group in its file, from 1.
func (c *Cursor) Place(row int) int { return c.first + row + 1 }

// Error is an error about value i of a run: with the row and the column, and the element if rows have lists.
func (c *Cursor) Error(r Run, i int, err error) *dataerror.Error {
	if c.leaf.List() {
		return &dataerror.Error{Row: c.Place(r.Row), Column: fmt.Sprintf("%s[%d]", c.leaf.Name, r.Element+i), Err: err}
	}
	return &dataerror.Error{Row: c.Place(r.Row + i), Column: c.leaf.Name, Err: err}
}
