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
// has exactly Width values, 1 unless the column is a list, and that none of
// them is null.
type cursor struct {
	*column.Cursor
	leaf *column.Leaf
	rows int // rows the row group says it has

	// absent marks the elements of a row that may be null: pairs that do not
	// exist, which pandas cannot write as NaN, and pairs whose outcome may be
	// unknown. They are returned as NaN. hint explains other nulls of a list.
	absent []bool
	hint   string
}

// next returns the next values, at most most, or such nulls. It returns io.EOF
// at the end of the row group.
func (c *cursor) next(most int) (column.Run, error) {
	row, have := c.Last()
	run, err := c.Next(most)
	starts := errors.Is(err, io.EOF) || err == nil && run.Element == 0
	if starts && row >= 0 && have < c.Width {
		return run, c.wrongLength(row, have)
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
	if row, have := c.Last(); have > c.Width {
		return run, c.tooLong(row)
	}
	return run, nil
}

// checkNulls refuses nulls, also in place of lists, where they may not be.
func (c *cursor) checkNulls(run column.Run) error {
	switch run.State {
	case column.Present:
		return nil
	case column.NullList:
		return &DataError{Row: c.Place(run.Row), Column: c.leaf.Name, Msg: "is null"}
	case column.EmptyList:
		return &DataError{Row: c.Place(run.Row), Column: c.leaf.Name, Msg: fmt.Sprintf("list is empty, expected %d values", c.Width)}
	}
	for i := range run.Len {
		if _, at := run.Place(i); at >= len(c.absent) || !c.absent[at] {
			return c.Error(run, i, errors.New("is null"+c.hint))
		}
	}
	return nil
}

// tooLong is the error for the row that is being read, which has more than Width
// values.
func (c *cursor) tooLong(row int) error {
	for {
		more, err := c.Continues()
		if err == nil && more {
			_, err = c.Next(math.MaxInt)
		}
		if err != nil {
			return err
		}
		if !more {
			_, have := c.Last()
			return c.wrongLength(row, have)
		}
	}
}

// fill calls use with the next values and the place of their first, run by run.
func (c *cursor) fill(values int, use func(at int, run column.Run) error) error {
	for at := 0; at < values; {
		run, err := c.next(values - at)
		if errors.Is(err, io.EOF) {
			row, _ := c.Last()
			return c.damaged(fmt.Errorf("row group has %d rows, but its metadata declare %d", row+1, c.rows))
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

// fillDoubles is fillFloats without narrowing.
func (c *cursor) fillDoubles(dst []float64) error {
	return c.fill(len(dst), func(at int, run column.Run) error {
		run.CopyDoubles(dst[at:])
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

// passed is the number of rows of the file that were read.
func (c *cursor) passed() int {
	row, _ := c.Last()
	return c.Place(row)
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

func (c *cursor) wrongLength(row, have int) error {
	return &DataError{
		Row: c.Place(row), Column: c.leaf.Name,
		Msg: fmt.Sprintf("list has %d values, expected %d", have, c.Width),
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
