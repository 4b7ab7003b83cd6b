package build

import (
	"context"
	"fmt"
	"strings"

	"pipe/costs"
)

// entryColumns names the columns of what is known of an instance without loading
// it; "" for all but the id means that there is no such column.
type entryColumns struct {
	id, label, split, group string
	text                    string // of the source table alone
}

// listing is what a table says of its instances, one a row.
type listing struct {
	columns *Columns
	entries []Entry
	texts   []string // nil without a column of texts
	lines   []int    // where each row is in the file
}

// readListing reads the instances of a table. Their ids are unique, and no column
// that is named has an empty cell.
func readListing(ctx context.Context, file string, c entryColumns) (*listing, error) {
	l := &listing{}
	first := make(map[string]int) // line by id
	err := eachRow(ctx, file, func(have *Columns) ([]string, error) {
		l.columns = have
		if _, err := have.find(c.id); err != nil {
			return nil, err
		}
		return have.named(c.id, c.label, c.split, c.group, c.text)
	}, func(cells []string, line int) error {
		e := Entry{ID: cells[0], Label: cells[1], Split: cells[2], Group: cells[3]}
		bad := c.check(e, cells[4])
		if there, twice := first[e.ID]; twice && bad == nil {
			bad = &costs.DataError{Column: c.id, Msg: fmt.Sprintf("%q is there already, in row %d", e.ID, there)}
		}
		if bad != nil {
			bad.File, bad.Row = file, line
			return bad
		}
		first[e.ID] = line
		l.entries, l.lines = append(l.entries, e), append(l.lines, line)
		if c.text != "" {
			l.texts = append(l.texts, cells[4])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// check returns what is wrong with one row, but for its place.
func (c *entryColumns) check(e Entry, text string) *costs.DataError {
	bad := func(column, msg string) *costs.DataError { return &costs.DataError{Column: column, Msg: msg} }
	switch {
	case e.ID == "":
		return bad(c.id, "is empty")
	case c.label != "" && e.Label == "":
		return bad(c.label, "is empty")
	case c.group != "" && e.Group == "":
		return bad(c.group, "is empty; give an instance without a group one to itself, its id for instance")
	case c.text != "" && strings.TrimSpace(text) == "":
		return bad(c.text, "is empty")
	}
	if c.split != "" {
		if _, err := costs.ParseSplit(e.Split); err != nil {
			return bad(c.split, err.Error())
		}
	}
	return nil
}
