package tablefile

import (
	"pipe/internal/parquetfile"
)

// Batch holds some rows of one file, column by column. It is valid until the next call of Table.Read.
type Batch struct {
	Path    string // of the file
	Rows    int
	Columns []Column // the chosen ones
	first   int      // number of row 0 in a Parquet file
	lines   []int    // of the rows of a text file
}

// Place returns the place of a row of the batch: its line in a text file, its number in a Parquet file, from 1.
func (b *Batch) Place(row int) int {
	if b.lines != nil {
		return b.lines[row]
	}
	return b.first + row
}

// Column is one column of a batch. Its methods take a row of the batch, from 0.
type Column struct {
	cells []Cell // those of row 0 and, every step, of the next rows; nil if there is a page
	step  int
	page  *page
	from  int // row 0 in the page
}

// Cell returns a cell. It is valid as long as the batch.
func (c *Column) Cell(row int) Cell {
	if c.page != nil {
		return c.page.cell(c.from + row)
	}
	return c.cells[row*c.step]
}

// Missing is Cell.Missing.
func (c *Column) Missing(row int) bool {
	if c.page != nil {
		return c.page.missing(c.from + row)
	}
	return c.cells[row*c.step].Missing()
}

// Text is Cell.String.
func (c *Column) Text(row int) string {
	if c.page != nil && c.page.column.Kind == parquetfile.ByteArray {
		return c.page.text(c.from + row)
	}
	cell := c.Cell(row)
	return cell.String()
}

// Float is Cell.Float.
func (c *Column) Float(row int) (float64, error) {
	if c.page != nil {
		if v, ok := c.page.number(c.from + row); ok && inFloat32(v) {
			return v, nil
		}
	}
	cell := c.Cell(row)
	return cell.Float()
}

// Flag is Cell.Flag.
func (c *Column) Flag(row int) (float64, error) {
	if c.page != nil {
		if v, ok := c.page.flag(c.from + row); ok {
			return v, nil
		}
	}
	cell := c.Cell(row)
	return cell.Flag()
}

// FlagOrFloat is Cell.FlagOrFloat.
func (c *Column) FlagOrFloat(row int) (float64, error) {
	if c.page != nil {
		if v, ok := c.page.number(c.from + row); ok && inFloat32(v) {
			return v, nil
		}
	}
	cell := c.Cell(row)
	return cell.FlagOrFloat()
}

// Repeats reports whether a cell is the same as the one in the row before. It may miss that for row 0 and for numbers
// that are not integers.
func (c *Column) Repeats(row int) bool {
	switch {
	case row == 0:
		return false
	case c.page != nil:
		return c.page.same(c.from+row, c.from+row-1)
	}
	a, b := &c.cells[row*c.step], &c.cells[(row-1)*c.step]
	return a.kind == textCell && b.kind == textCell && a.text == b.text
}

// Dictionary is a list of texts, to which the cells of a column refer. Two dictionaries are the same if they are equal.
type Dictionary struct{ values *parquetfile.Values }

// Len is the number of texts.
func (d Dictionary) Len() int {
	if d.values == nil {
		return 0
	}
	return d.values.Count()
}

// Dictionary returns the dictionary of the column. It is empty if the column has none.
func (c *Column) Dictionary() Dictionary {
	if c.page == nil || c.page.codes == nil {
		return Dictionary{}
	}
	dict, _ := c.page.Dictionary()
	return Dictionary{dict}
}

// Code is the place of a cell in the dictionary, which must not be empty; -1 if the cell is missing.
func (c *Column) Code(row int) int { return int(c.page.codes[c.from+row]) }

// Row is one row of a batch. Its methods take the position of a column among the chosen ones.
type Row struct {
	batch *Batch
	at    int
}

// Row returns a row of the batch, counted from 0.
func (b *Batch) Row(row int) Row { return Row{b, row} }

// Place is Batch.Place.
func (r Row) Place() int { return r.batch.Place(r.at) }

// Cell is Column.Cell.
func (r Row) Cell(column int) Cell { return r.batch.Columns[column].Cell(r.at) }

// Missing is Cell.Missing.
func (r Row) Missing(column int) bool { return r.batch.Columns[column].Missing(r.at) }

// Text is Cell.String.
func (r Row) Text(column int) string { return r.batch.Columns[column].Text(r.at) }

// Float is Cell.Float.
func (r Row) Float(column int) (float64, error) { return r.batch.Columns[column].Float(r.at) }

// Flag is Cell.Flag.
func (r Row) Flag(column int) (float64, error) { return r.batch.Columns[column].Flag(r.at) }

// FlagOrFloat is Cell.FlagOrFloat.
func (r Row) FlagOrFloat(column int) (float64, error) {
	return r.batch.Columns[column].FlagOrFloat(r.at)
}

// Number is the number of the row in its batch, from 0.
func (r Row) Number() int { return r.at }
