package tablefile

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// madeTable adds columns to a table; they are made of the table's columns.
type madeTable struct {
	source
	made   map[string]recipe
	wanted []string       // columns that were chosen
	at     map[string]int // of columns of the table among those that are read
	batch  Batch
}

// recipe says how a column is made. It is missing where one of the columns that it is made of is.
type recipe struct {
	from []string // columns of the table
	cell func(from []Cell) (Cell, error)
}

// newMadeTable adds columns to a table, which must not have one of these names.
func newMadeTable(t source, made map[string]recipe) (*madeTable, error) {
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if slices.Contains(t.columns(), name) {
			return nil, &dataerror.Error{File: t.path(), Column: name, Msg: "is made of others, but the table has a column of this name"}
		}
	}
	return &madeTable{source: t, made: made}, nil
}

// combining returns the recipes of columns that patterns join. A pattern without a {column} is a constant.
func combining(t source, patterns map[string]string) (map[string]recipe, error) {
	made := make(map[string]recipe, len(patterns))
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		text := patterns[name]
		p, err := ParsePattern(text)
		switch {
		case err != nil:
			return nil, &dataerror.Error{Column: name, Err: err}
		case text == "":
			return nil, &dataerror.Error{Column: name, Msg: "is combined of nothing"}
		case slices.Contains(t.columns(), text):
			return nil, &dataerror.Error{File: t.path(), Column: name, Msg: fmt.Sprintf("is combined of no {column}, but the table has a column %s; write {%[1]s}", text)}
		}
		made[name] = recipe{p.Names(), func(from []Cell) (Cell, error) {
			at := -1
			return Cell{kind: textCell, text: p.Fill(func(string) string {
				at++
				return from[at].String()
			})}, nil
		}}
	}
	return made, nil
}

// ParseCut reads an expression that fits all of a value and cuts it: each group with a name, such as (?<user>.+), is a
// column.
func ParseCut(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil {
		return nil, err
	}
	e, err := regexp.Compile(`(?s)\A(?:` + text + `)\z`)
	if err != nil {
		return nil, err
	}
	if len(groups(e)) == 0 {
		return nil, fmt.Errorf("%q has no group with a name, such as (?<user>.+)", text)
	}
	return e, nil
}

// groups returns the places of an expression's groups by their names.
func groups(e *regexp.Regexp) map[string]int {
	at := make(map[string]int)
	for i, name := range e.SubexpNames() {
		if name != "" {
			at[name] = i
		}
	}
	return at
}

// cutting returns the recipes of the columns that expressions cut out of others.
func cutting(expressions map[string]string) (map[string]recipe, error) {
	made := make(map[string]recipe)
	for _, column := range slices.Sorted(maps.Keys(expressions)) {
		e, err := ParseCut(expressions[column])
		if err != nil {
			return nil, &dataerror.Error{Column: column, Err: err}
		}
		for name, at := range groups(e) {
			if _, ok := made[name]; ok {
				return nil, &dataerror.Error{Column: name, Msg: "is cut out of two columns"}
			}
			made[name] = recipe{[]string{column}, func(from []Cell) (Cell, error) {
				parts := e.FindStringSubmatch(from[0].String())
				switch {
				case parts == nil:
					return Cell{}, fmt.Errorf("is cut out of %s, but %s does not fit %q", column, textfile.Quoted(from[0].String()), expressions[column])
				case parts[at] == "":
					return Cell{}, nil
				}
				return Cell{kind: textCell, text: parts[at]}, nil
			}}
		}
	}
	return made, nil
}

// columns are those of the table, and behind them the made ones.
func (m *madeTable) columns() []string {
	return slices.Concat(m.source.columns(), slices.Sorted(maps.Keys(m.made)))
}

func (m *madeTable) choose(columns, times []string) error {
	m.wanted, m.at = columns, make(map[string]int)
	var chosen []string
	for _, name := range columns {
		parts := []string{name}
		if r, ok := m.made[name]; ok {
			parts = r.from
		}
		for _, part := range parts {
			if _, ok := m.at[part]; !ok {
				m.at[part] = len(chosen)
				chosen = append(chosen, part)
			}
		}
	}
	return m.source.choose(chosen, times)
}

func (m *madeTable) read() (*Batch, error) {
	b, err := m.source.read()
	if err != nil {
		return nil, err
	}
	m.batch = *b
	m.batch.Columns = nil
	for _, name := range m.wanted {
		r, ok := m.made[name]
		if !ok {
			m.batch.Columns = append(m.batch.Columns, b.Columns[m.at[name]])
			continue
		}
		cells := make([]Cell, b.Rows)
		for row := range cells {
			if cells[row], err = m.make(r, b, row); err != nil {
				return nil, &dataerror.Error{File: b.Path, Row: b.Place(row), Column: name, Err: err}
			}
		}
		m.batch.Columns = append(m.batch.Columns, Column{cells: cells, step: 1})
	}
	return &m.batch, nil
}

// make makes a cell of those in a row.
func (m *madeTable) make(r recipe, b *Batch, row int) (Cell, error) {
	from := make([]Cell, len(r.from))
	for i, name := range r.from {
		from[i] = b.Columns[m.at[name]].Cell(row)
		switch from[i].kind {
		case missingCell:
			return Cell{}, nil
		case listCell:
			return Cell{}, errors.New(name + " is a list")
		}
	}
	return r.cell(from)
}
