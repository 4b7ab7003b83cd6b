package tablefile

import (
	"errors"
	"maps"
	"slices"

	"pipe/internal/dataerror"
)

// combinedTable adds columns to a table; they are made of the table's columns.
type combinedTable struct {
	source
	made   map[string]*Pattern
	wanted []string       // columns that were chosen
	at     map[string]int // of columns of the table among those that are read
	batch  Batch
}

func newCombinedTable(t source, combine map[string]string) (*combinedTable, error) {
	c := &combinedTable{source: t, made: make(map[string]*Pattern, len(combine))}
	for _, name := range slices.Sorted(maps.Keys(combine)) {
		p, err := ParsePattern(combine[name])
		switch {
		case err != nil:
			return nil, &dataerror.Error{Column: name, Err: err}
		case len(p.Names()) == 0:
			return nil, &dataerror.Error{Column: name, Msg: "is combined of no {column}"}
		case slices.Contains(t.columns(), name):
			return nil, &dataerror.Error{File: t.path(), Column: name, Msg: "is combined of others, but the table has a column of this name"}
		}
		c.made[name] = p
	}
	return c, nil
}

// columns are those of the table, and behind them the combined ones.
func (c *combinedTable) columns() []string {
	return slices.Concat(c.source.columns(), slices.Sorted(maps.Keys(c.made)))
}

func (c *combinedTable) choose(columns, times []string) error {
	c.wanted, c.at = columns, make(map[string]int)
	var chosen []string
	for _, name := range columns {
		parts := []string{name}
		if p := c.made[name]; p != nil {
			parts = p.Names()
		}
		for _, part := range parts {
			if _, ok := c.at[part]; !ok {
				c.at[part] = len(chosen)
				chosen = append(chosen, part)
			}
		}
	}
	return c.source.choose(chosen, times)
}

func (c *combinedTable) read() (*Batch, error) {
	b, err := c.source.read()
	if err != nil {
		return nil, err
	}
	c.batch = *b
	c.batch.Columns = nil
	for _, name := range c.wanted {
		if p := c.made[name]; p == nil {
			c.batch.Columns = append(c.batch.Columns, b.Columns[c.at[name]])
			continue
		}
		column, err := c.combined(name, b)
		if err != nil {
			return nil, err
		}
		c.batch.Columns = append(c.batch.Columns, column)
	}
	return &c.batch, nil
}

// combined makes a column of those in a batch.
func (c *combinedTable) combined(name string, b *Batch) (Column, error) {
	p := c.made[name]
	cells := make([]Cell, b.Rows)
	for row := range cells {
		var err error
		if cells[row], err = c.fill(p, b, row); err != nil {
			return Column{}, &dataerror.Error{File: b.Path, Row: b.Place(row), Column: name, Err: err}
		}
	}
	return Column{cells: cells, step: 1}, nil
}

func (c *combinedTable) fill(p *Pattern, b *Batch, row int) (Cell, error) {
	values := make(map[string]Cell, len(p.Names()))
	for _, name := range p.Names() {
		cell := b.Columns[c.at[name]].Cell(row)
		switch cell.kind {
		case missingCell:
			return Cell{}, nil
		case listCell:
			return Cell{}, errors.New(name + " is a list")
		}
		values[name] = cell
	}
	text := p.Fill(func(name string) string {
		cell := values[name]
		return cell.String()
	})
	return Cell{kind: textCell, text: text}, nil
}
