package costs

import (
	"errors"
	"fmt"
	"io"
	"math"

	"pipe/internal/column"
	"pipe/internal/parquetfile"
)

// cursor walks through one column of one row group. It checks that every row
// has exactly width values and that none of them is null.
type cursor struct {
	*column.Cursor
	leaf  *column.Leaf
	width int // values per row; 1 unless the column is a list
	rows  int // rows the row group says it has
	done  int // rows that were begun
	have  int // values of the last of them

	// absent marks the elements of a row that may be null: pairs that do not
	// exist, which pandas cannot write as NaN, and pairs whose outcome may be
	// unknown. They are returned as NaN. hint explains other nulls of a list.
	absent []bool
	hint   string
}

// next returns the next values, at most most, or such nulls. It returns io.EOF
// at the end of the row group.
func (c *cursor) next(most int) (column.Run, error) {
	run, err := c.Next(most)
	starts := err == nil && run.Element == 0
	if ended := errors.Is(err, io.EOF); (ended || starts) && c.done > 0 && c.have < c.width {
		return run, c.wrongLength(c.done, c.have)
	}
	if err != nil {
		return run, err
	}
	if run.Row < 0 {
		return run, c.damaged(errors.New("repetition levels form no rows"))
	}
	if err := c.checkNulls(run); err != nil {
		return run, err
	}
	if !c.leaf.List() {
		c.done, c.have = run.Row+run.Len, 1
		return run, nil
	}
	c.done, c.have = run.Row+1, run.Element+run.Len
	if c.have > c.width {
		return run, c.tooLong()
	}
	return run, nil
}

// checkNulls refuses nulls, also in place of lists, where they may not be.
func (c *cursor) checkNulls(run column.Run) error {
	list := &DataError{Row: c.Place(run.Row), Column: c.leaf.Name, Msg: "is null"}
	switch run.State {
	case column.Present:
		return nil
	case column.NullList:
		return list
	case column.EmptyList:
		list.Msg = fmt.Sprintf("list is empty, expected %d values", c.width)
		return list
	}
	for i := range run.Len {
		if at := run.Element + i; !c.leaf.List() || at >= len(c.absent) || !c.absent[at] {
			return c.Error(run, i, errors.New("is null"+c.hint))
		}
	}
	return nil
}

// tooLong is the error for the last row, which has more than width values.
func (c *cursor) tooLong() error {
	for {
		more, err := c.Continues()
		if err != nil {
			return err
		}
		if !more {
			return c.wrongLength(c.done, c.have)
		}
		run, err := c.Next(math.MaxInt)
		if err != nil {
			return err
		}
		c.have += run.Len
	}
}

// fill calls use with the next values and the place of their first, run by run.
func (c *cursor) fill(values int, use func(at int, run column.Run) error) error {
	for at := 0; at < values; {
		run, err := c.next(values - at)
		if errors.Is(err, io.EOF) {
			return c.damaged(fmt.Errorf("row group has %d rows, but its metadata declare %d", c.done, c.rows))
		}
		if err != nil {
			return err
		}
		if err := use(at, run); err != nil {
			return err
		}
		at += run.Len
	}
	return nil
}

// fillFloats reads the next len(dst)/width rows.
func (c *cursor) fillFloats(dst []float32) error {
	return c.fill(len(dst), func(at int, run column.Run) error {
		run.CopyFloats(dst[at:])
		return nil
	})
}

// fillTimes reads the next len(dst) points in time, as microseconds.
func (c *cursor) fillTimes(dst []int64) error {
	return c.fill(len(dst), func(at int, run column.Run) (err error) {
		for i, v := range run.Ints() {
			if dst[at+i], err = c.leaf.Micros(v); err != nil {
				return c.Error(run, i, err)
			}
		}
		return nil
	})
}

// fillText calls use with the position and the value of each of the next
// values.
func (c *cursor) fillText(values int, use func(i int, s string) error) error {
	return c.fill(values, func(at int, run column.Run) error {
		for i := range run.Len {
			if err := use(at+i, run.Text(i)); err != nil {
				return c.Error(run, i, err)
			}
		}
		return nil
	})
}

// finish checks that nothing is left once all rows have been read.
func (c *cursor) finish() error {
	if _, err := c.next(1); !errors.Is(err, io.EOF) {
		if err == nil {
			err = c.damaged(fmt.Errorf("row group has more rows than the %d that its metadata declare", c.rows))
		}
		return err
	}
	return nil
}

func (c *cursor) damaged(err error) error {
	return &DataError{Column: c.leaf.Name, Msg: "the file is damaged", Err: err}
}

// wrongLength is about row n of the group, from 1.
func (c *cursor) wrongLength(n, have int) error {
	return &DataError{
		Row: c.Place(n - 1), Column: c.leaf.Name,
		Msg: fmt.Sprintf("list has %d values, expected %d", have, c.width),
	}
}

// shown formats a bad number for an error. For a float64 column, an infinity
// may come from rounding to float32.
func shown(l *column.Leaf, v float32) error {
	if l.Kind == parquetfile.Double && math.IsInf(float64(v), 0) {
		return fmt.Errorf("is %v, or too large for a float32", v)
	}
	return fmt.Errorf("is %v", v)
}
