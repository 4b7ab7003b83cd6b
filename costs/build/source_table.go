package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"pipe/costs"
)

// table is a file with one row per instance. Its cells are kept as text and
// read as numbers by whoever names a column.
type table struct {
	columns *Columns
	cells   [][]string
	lines   []int // where each row is in the file
	list    []Entry
	text    int // column of the text; -1: there is none
}

type tableSettings struct {
	File  Path   `json:"file"`
	ID    string `json:"id"`
	Label string `json:"label"`           // "": no labels
	Split string `json:"split"`           // "": none
	Group string `json:"group,omitempty"` // "": none
	Text  string `json:"text,omitempty"`  // "": none
}

func newTable(ctx context.Context, s *Setup, settings map[string]any) (Source, error) {
	cfg := tableSettings{ID: "id", Label: "label"}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.File == "" {
		return nil, errors.New("file: none is named")
	}
	file := s.Path(cfg.File)
	if err := s.File(ctx, "table", file); err != nil {
		return nil, err
	}
	t, err := readTable(ctx, file)
	if err != nil {
		return nil, err
	}
	if t.list, err = t.entries(entryColumns{cfg.ID, cfg.Label, cfg.Split, cfg.Group}); err != nil {
		return nil, err
	}
	at, err := optionalColumns(t.columns, cfg.Text)
	if err != nil {
		return nil, err
	}
	t.text = at[0]
	for n, row := range t.cells {
		if t.text >= 0 && strings.TrimSpace(row[t.text]) == "" {
			return nil, &costs.DataError{File: file, Row: t.lines[n], Column: cfg.Text, Msg: "is empty"}
		}
	}
	return t, nil
}

// readTable reads a whole file.
func readTable(ctx context.Context, file string) (*table, error) {
	r, err := costs.OpenTable(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t := &table{columns: NewColumns(file, r.Columns())}
	for {
		cells, line, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(t.cells)%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		t.cells = append(t.cells, cells)
		t.lines = append(t.lines, line)
	}
	if len(t.cells) == 0 {
		return nil, &costs.DataError{File: file, Msg: "there are no rows"}
	}
	return t, nil
}

// entryColumns names the columns of what is known of an instance without loading
// it; "" for all but the id means that there is no such column.
type entryColumns struct {
	id, label, split, group string
}

// entries reads what is known of every row.
func (t *table) entries(c entryColumns) ([]Entry, error) {
	at, err := t.columns.Find(c.id)
	if err != nil {
		return nil, err
	}
	pick := func(name string) (func(row []string) string, error) {
		if name == "" {
			return func([]string) string { return "" }, nil
		}
		at, err := t.columns.Find(name)
		if err != nil {
			return nil, err
		}
		return func(row []string) string { return row[at[0]] }, nil
	}
	var of [3]func(row []string) string
	for i, name := range []string{c.label, c.split, c.group} {
		if of[i], err = pick(name); err != nil {
			return nil, err
		}
	}
	list := make([]Entry, len(t.cells))
	first := make(map[string]int, len(t.cells))
	for n, row := range t.cells {
		e := Entry{ID: row[at[0]], Label: of[0](row), Split: of[1](row), Group: of[2](row)}
		if err := t.checkEntry(n, e, c, first); err != nil {
			return nil, err
		}
		list[n] = e
	}
	return list, nil
}

func (t *table) checkEntry(n int, e Entry, c entryColumns, first map[string]int) error {
	bad := func(column, format string, args ...any) error {
		return &costs.DataError{File: t.columns.File, Row: t.lines[n], Column: column, Msg: fmt.Sprintf(format, args...)}
	}
	if e.ID == "" {
		return bad(c.id, "is empty")
	}
	if line, ok := first[e.ID]; ok {
		return bad(c.id, "%q is there already, in row %d", e.ID, line)
	}
	first[e.ID] = t.lines[n]
	if c.label != "" && e.Label == "" {
		return bad(c.label, "is empty")
	}
	if c.group != "" && e.Group == "" {
		return bad(c.group, "is empty; an instance without a group needs one of its own, its id for instance")
	}
	if c.split != "" {
		if _, err := costs.ParseSplit(e.Split); err != nil {
			return bad(c.split, "%v", err)
		}
	}
	return nil
}

// Entries returns the rows in the order of the file.
func (t *table) Entries() []Entry { return t.list }

// Columns returns the columns of the file.
func (t *table) Columns() *Columns { return t.columns }

// Load returns rows; nothing is copied.
func (t *table) Load(_ context.Context, rows []int) ([]Instance, error) {
	out := make([]Instance, len(rows))
	for n, i := range rows {
		out[n] = Instance{Entry: t.list[i], Cells: t.cells[i], Line: t.lines[i], Row: i}
		if t.text >= 0 {
			out[n].Text = t.cells[i][t.text]
		}
	}
	return out, nil
}
