package costs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"pipe/internal/parquetfile"
)

// cursor walks through one column of one row group, page by page, and returns
// its values. It checks that every row has exactly width values and that none
// of them is null. Values and levels then have the same positions, and the
// position of a row can be computed.
type cursor struct {
	leaf  *leaf
	width int // values per row; 1 unless the column is a list
	first int // number of the row group's first row in the file, from 0
	rows  int // rows the row group says it has
	file  *parquetfile.File
	group int
	pages *parquetfile.Pages // nil before the first page
	page  *parquetfile.Page  // nil between pages
	size  int                // values in the page
	at    int                // values of the page already returned
	done  int                // values of the row group already returned

	// absent marks the elements of a row that may be null: pairs that do not
	// exist, which pandas cannot write as NaN, and pairs whose outcome may be
	// unknown. They are returned as NaN. hint explains other nulls of a list.
	absent []bool
	hint   string

	rep, def []byte
	floats   []float32 // the page's values if the column is a number
	scratch  []float32
}

// close releases the memory of the pages.
func (c *cursor) close() {
	c.pages, c.page, c.rep, c.def, c.floats, c.scratch = nil, nil, nil, nil, nil, nil
}

// next makes sure that the current page has values left and returns how many,
// at most need, may be taken from position at. It returns io.EOF at the end of
// the row group.
func (c *cursor) next(need int) (int, error) {
	for c.page == nil || c.at == c.size {
		page, err := c.nextPage()
		if err != nil {
			return 0, err
		}
		c.page, c.at = page, 0
		if err := c.load(); err != nil {
			return 0, err
		}
	}
	run := min(need, c.size-c.at)
	if c.leaf.list && !regular(c.rep[c.at:c.at+run], c.done%c.width, c.width) {
		return 0, c.irregular()
	}
	return run, nil
}

func (c *cursor) nextPage() (page *parquetfile.Page, err error) {
	if c.pages == nil {
		c.pages, err = c.file.Pages(c.group, c.leaf.column)
	}
	if err == nil {
		page, err = c.pages.Next()
	}
	return page, parquetfile.InColumn(c.leaf.name, err)
}

// take moves past values that have been used.
func (c *cursor) take(run int) {
	c.at += run
	c.done += run
}

// load checks the page just read for nulls. The values and the levels of a page
// that passes have the same positions.
func (c *cursor) load() error {
	c.size, c.rep, c.def = c.page.Len, c.page.Rep, c.page.Def
	nulls := false
	if c.leaf.maxDef > 0 {
		nulls = bytes.Count(c.def, []byte{c.leaf.maxDef}) != len(c.def)
		if nulls && !c.onlyAbsent() {
			return c.irregular()
		}
	}
	switch c.leaf.column.Kind {
	case parquetfile.Float:
		c.floats = c.page.Floats
	case parquetfile.Double:
		c.scratch = narrow(c.scratch, c.page.Doubles)
		c.floats = c.scratch
	}
	if nulls {
		c.floats = c.spread()
	}
	return nil
}

// narrow converts to float32. A finite number beyond its range becomes an
// infinity, which the check for finite values then reports.
func narrow(dst []float32, src []float64) []float32 {
	if cap(dst) < len(src) {
		dst = make([]float32, len(src))
	}
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
	return dst
}

// nullAllowed reports whether level i of the page, which is for element pos of
// a row, may say null.
func (c *cursor) nullAllowed(i, pos int) bool {
	return c.def[i] >= c.leaf.listDef && pos < len(c.absent) && c.absent[pos]
}

// onlyAbsent reports whether all nulls of the page are allowed.
func (c *cursor) onlyAbsent() bool {
	if c.absent == nil {
		return false
	}
	pos := c.done % c.width
	for i, def := range c.def {
		if c.rep[i] == 0 {
			pos = 0
		}
		if def != c.leaf.maxDef && !c.nullAllowed(i, pos) {
			return false
		}
		pos++
	}
	return true
}

// spread puts a NaN where a null was, so that values and levels have the same
// positions again.
func (c *cursor) spread() []float32 {
	all := make([]float32, len(c.def))
	next := 0
	for i, def := range c.def {
		if def != c.leaf.maxDef {
			all[i] = float32(math.NaN())
			continue
		}
		all[i] = c.floats[next]
		next++
	}
	return all
}

// fillFloats reads the next len(dst)/width rows.
func (c *cursor) fillFloats(dst []float32) error {
	for len(dst) > 0 {
		run, err := c.next(len(dst))
		if err != nil {
			return c.ended(err)
		}
		copy(dst, c.floats[c.at:c.at+run])
		dst = dst[run:]
		c.take(run)
	}
	return nil
}

// fillTimes reads the next len(dst) points in time, as microseconds.
func (c *cursor) fillTimes(dst []int64) error {
	for i := 0; i < len(dst); {
		run, err := c.next(len(dst) - i)
		if err != nil {
			return c.ended(err)
		}
		for m := range run {
			if dst[i+m], err = c.leaf.column.Micros(c.page.Ints[c.at+m]); err != nil {
				return &DataError{Row: c.row(c.done + m), Column: c.leaf.name, Err: err}
			}
		}
		i += run
		c.take(run)
	}
	return nil
}

// fillText calls use with the position and the value of each of the next
// values.
func (c *cursor) fillText(values int, use func(i int, s string) error) error {
	for i := 0; i < values; {
		run, err := c.next(values - i)
		if err != nil {
			return c.ended(err)
		}
		for m := range run {
			if err := use(i+m, c.page.Text(c.at+m)); err != nil {
				return &DataError{Row: c.row(c.done + m), Column: c.column(c.done + m), Err: err}
			}
		}
		i += run
		c.take(run)
	}
	return nil
}

// finish checks that nothing is left once all rows have been read.
func (c *cursor) finish() error {
	switch run, err := c.next(1); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case run > 0:
		return c.damaged(fmt.Errorf("row group has more rows than the %d that its metadata declare", c.rows))
	}
	return nil
}

// ended turns an io.EOF before all values were read into an error about the
// file.
func (c *cursor) ended(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if short := c.done % c.width; short != 0 {
		return c.wrongLength(c.done/c.width, short)
	}
	return c.damaged(fmt.Errorf("row group has %d rows, but its metadata declare %d", c.done/c.width, c.rows))
}

func (c *cursor) row(value int) int { return c.first + value/c.width + 1 }

func (c *cursor) column(value int) string {
	if !c.leaf.list {
		return c.leaf.name
	}
	return fmt.Sprintf("%s[%d]", c.leaf.name, value%c.width)
}

func (c *cursor) damaged(err error) error {
	return &DataError{Column: c.leaf.name, Msg: "the file is damaged", Err: err}
}

func (c *cursor) wrongLength(row, have int) error {
	return &DataError{
		Row: c.first + row + 1, Column: c.leaf.name,
		Msg: fmt.Sprintf("list has %d values, expected %d", have, c.width),
	}
}

// regular reports whether repetition levels start a row every width values,
// given that phase values of the current row were already read.
func regular(rep []byte, phase, width int) bool {
	for len(rep) > 0 {
		if phase == 0 {
			if rep[0] != 0 {
				return false
			}
			rep, phase = rep[1:], 1
		}
		run := min(width-phase, len(rep), len(onesRow))
		if !bytes.Equal(rep[:run], onesRow[:run]) {
			return false
		}
		rep, phase = rep[run:], (phase+run)%width
	}
	return true
}

var onesRow = bytes.Repeat([]byte{1}, 1024)

// irregular describes the first row of the page that does not have width
// values.
func (c *cursor) irregular() error {
	row, have := c.done/c.width, c.done%c.width
	if have == 0 && row > 0 && c.leaf.list && c.rep[c.at] != 0 {
		row, have = row-1, c.width // the previous row continues
	}
	for i := c.at; i < c.size; i++ {
		starts := !c.leaf.list || c.rep[i] == 0
		if starts && have > 0 {
			if have != c.width {
				return c.wrongLength(row, have)
			}
			row, have = row+1, 0
		}
		if c.leaf.maxDef > 0 && c.def[i] != c.leaf.maxDef && !c.nullAllowed(i, have) {
			return c.null(row, have, c.def[i])
		}
		have++
	}
	// The last row of the page may continue in the next one.
	if have != c.width {
		return c.wrongLength(row, have)
	}
	return c.damaged(errors.New("repetition levels form no rows"))
}

func (c *cursor) null(row, element int, def byte) error {
	e := &DataError{Row: c.first + row + 1, Column: c.leaf.name, Msg: "is null"}
	switch {
	case !c.leaf.list:
	case def >= c.leaf.listDef:
		e.Column = fmt.Sprintf("%s[%d]", c.leaf.name, element)
		e.Msg += c.hint
	case def == c.leaf.listDef-1:
		e.Msg = fmt.Sprintf("list is empty, expected %d values", c.width)
	}
	return e
}

// shown formats a bad number for an error. For a float64 column, an infinity
// may come from rounding to float32.
func (l *leaf) shown(v float32) string {
	if l.column.Kind == parquetfile.Double && math.IsInf(float64(v), 0) {
		return fmt.Sprintf("is %v, or too large for a float32", v)
	}
	return fmt.Sprintf("is %v", v)
}
