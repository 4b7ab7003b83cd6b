package source

import (
	"context"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// entryColumns names the columns that are read without loading an instance.
// Except for the id, "" means that there is no such column.
type entryColumns struct {
	id, label, split, group string
	text                    string // only for the source table
	references              string // the same
	listed                  bool   // a cell of references is a JSON list
}

// listing is a table of instances, one per row.
type listing struct {
	columns *part.Columns
	entries []part.Entry
	texts   []string // nil without a column of texts
	lines   []int    // line of each row in the file

	references [][]string // by row; nil without such a column
}

// readListing reads the instances of a table. Duplicate ids and empty cells in
// a named column are errors.
func readListing(ctx context.Context, file storage.Location, c entryColumns, held *textfile.MemoryBudget) (*listing, error) {
	l := &listing{}
	ids, shared, texts := textfile.NewNames(held), textfile.NewNames(held), textfile.NewTexts(held)
	err := part.EachRow(ctx, file, func(have *part.Columns) ([]string, error) {
		l.columns = have
		if _, err := have.At(c.id); err != nil {
			return nil, err
		}
		return have.Existing(c.id, c.label, c.split, c.group, c.text, c.references)
	}, func(cells []string, line int) error {
		e := part.Entry{ID: cells[0], Label: cells[1], Split: cells[2], Group: cells[3]}
		bad := c.check(e, cells[4])
		if there := ids.Find(e.ID); there >= 0 && bad == nil {
			bad = &costs.DataError{Column: c.id, Msg: fmt.Sprintf("%q is a duplicate of row %d", e.ID, l.lines[there])}
		}
		if bad != nil {
			bad.File, bad.Row = file.String(), line
			return bad
		}
		if err := held.Add(entryBytes); err != nil {
			return err
		}
		number, err := ids.Add(e.ID)
		if err != nil {
			return err
		}
		e.ID = ids.List()[number]
		for _, s := range []*string{&e.Label, &e.Split, &e.Group} {
			if *s == "" {
				continue
			}
			if number, err = shared.Add(*s); err != nil {
				return err
			}
			*s = shared.List()[number]
		}
		l.entries, l.lines = append(l.entries, e), append(l.lines, line)
		if c.text != "" {
			text, err := texts.Keep(cells[4])
			if err != nil {
				return err
			}
			l.texts = append(l.texts, text)
		}
		return l.refer(&c, cells[5], texts)
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// refer keeps the references of a row.
func (l *listing) refer(c *entryColumns, cell string, texts *textfile.Texts) error {
	if c.references == "" {
		return nil
	}
	list, err := grade.References(cell, c.listed)
	if err != nil {
		return &costs.DataError{File: l.columns.File.String(), Row: l.lines[len(l.lines)-1], Column: c.references, Err: err}
	}
	for i := range list {
		if list[i], err = texts.Keep(list[i]); err != nil {
			return err
		}
	}
	l.references = append(l.references, list)
	return nil
}

// entryBytes is the memory of an entry and its line without the texts.
const entryBytes = 72

// check returns the error of one row, without its position.
func (c *entryColumns) check(e part.Entry, text string) *costs.DataError {
	bad := func(column, msg string) *costs.DataError { return &costs.DataError{Column: column, Msg: msg} }
	switch {
	case e.ID == "":
		return bad(c.id, "is empty")
	case c.label != "" && e.Label == "":
		return bad(c.label, "is empty")
	case c.group != "" && e.Group == "":
		return bad(c.group, "is empty; give an instance without a group its own group, for instance its id")
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
