package source

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// table is a file with one row per instance. The columns of the entries are
// read when the source is made. Other columns are read when instances are
// loaded, if a part has requested them. They are kept as text; a part that uses
// a column as numbers parses it.
type table struct {
	*listing
	settings tableSettings
	held     *textfile.MemoryBudget

	digest string // of the file when it was first read

	mu     sync.Mutex
	asked  []bool     // by column of the file: it was or will be read
	wanted []int      // requested columns that are not read yet
	cells  [][]string // by column of the file, then by row; nil: not read
	failed error      // error of reading columns, which is not retried
}

type tableSettings struct {
	File  part.Path `json:"file"`
	ID    string    `json:"id"`
	Label string    `json:"label"`           // "": no labels
	Split string    `json:"split"`           // "": none
	Group string    `json:"group,omitempty"` // "": none
	Text  string    `json:"text,omitempty"`  // "": none

	Reference     string `json:"reference,omitempty"`      // "": none
	ReferenceList bool   `json:"reference_list,omitempty"` // a cell is a JSON list of references
}

func newTable(ctx context.Context, s *part.Setup, settings map[string]any) (part.Source, error) {
	cfg := tableSettings{ID: "id", Label: "label"}
	if open, ok := settings["reference"].(string); ok && open != "" {
		cfg.Label = "" // open questions have none
	}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.File == "" {
		return nil, errors.New("file: not set")
	}
	if cfg.Reference != "" && cfg.Label != "" {
		return nil, fmt.Errorf("label is %q and reference is %q; an instance has a label or references, not both", cfg.Label, cfg.Reference)
	}
	if cfg.Reference == "" && cfg.ReferenceList {
		return nil, errors.New("reference_list is set, and reference is not")
	}
	file := s.Path(cfg.File)
	if err := s.File(ctx, "table", file); err != nil {
		return nil, err
	}
	l, err := readListing(ctx, file, entryColumns{cfg.ID, cfg.Label, cfg.Split, cfg.Group, cfg.Text, cfg.Reference, cfg.ReferenceList}, s.Held)
	if err != nil {
		return nil, err
	}
	columns := len(l.columns.Names)
	t := &table{
		listing: l, settings: cfg, held: s.Held, digest: s.Inputs["table of "+s.Part],
		asked: make([]bool, columns), cells: make([][]string, columns),
	}
	l.columns.Use, l.columns.Cell = func(columns []int) error { return t.use(ctx, columns) }, t.cell
	return t, nil
}

// use requests columns of the file. It returns an error if the type of a column
// cannot be read.
func (t *table) use(ctx context.Context, columns []int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, err := tablefile.OpenText(ctx, t.columns.File)
	if err != nil {
		return err
	}
	defer r.Close()
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = t.columns.Names[c]
	}
	distinct, _ := part.Distinct(names)
	if err := r.Choose(distinct...); err != nil {
		return err
	}
	for _, c := range columns {
		if !t.asked[c] {
			t.asked[c], t.wanted = true, append(t.wanted, c)
		}
	}
	return nil
}

// fetch reads the columns that were requested since the last call.
func (t *table) fetch(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wanted) == 0 || t.failed != nil {
		return t.failed
	}
	names := []string{t.settings.ID}
	for _, c := range t.wanted {
		names = append(names, t.columns.Names[c])
	}
	read, texts := make([][]string, len(t.wanted)), textfile.NewTexts(t.held)
	rows := 0
	changed := func(line int) error {
		return &costs.DataError{File: t.columns.File.String(), Row: line, Msg: "has changed while it was in use"}
	}
	err := part.EachRow(ctx, t.columns.File, func(*part.Columns) ([]string, error) { return names, nil }, func(cells []string, line int) error {
		if rows == len(t.entries) || cells[0] != t.entries[rows].ID {
			return changed(line)
		}
		for i, cell := range cells[1:] {
			kept, err := texts.Keep(cell)
			if err != nil {
				return err
			}
			read[i] = append(read[i], kept)
		}
		rows++
		return nil
	})
	if err == nil && rows < len(t.entries) {
		err = changed(0)
	}
	if err == nil {
		err = t.unchanged(ctx, changed(0))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		t.failed = fmt.Errorf("read columns: %w", err)
		return t.failed
	}
	for i, c := range t.wanted {
		t.cells[c] = read[i]
	}
	t.wanted = nil
	return nil
}

// unchanged checks that the file still has the digest that became an input of
// the build; otherwise is the error if it has not.
func (t *table) unchanged(ctx context.Context, otherwise error) error {
	now, err := costs.FileDigest(ctx, t.columns.File)
	if err == nil && now != t.digest {
		err = otherwise
	}
	return err
}

// cell returns a cell of an instance that was loaded after use of the column.
func (t *table) cell(in *part.Instance, column int) string { return t.cells[column][in.Row] }

// Entries returns the rows in the order of the file.
func (t *table) Entries() []part.Entry { return t.entries }

// References returns the column of the references.
func (t *table) References() string { return t.settings.Reference }

// Columns returns the columns of the file.
func (t *table) Columns() *part.Columns { return t.columns }

// Load returns rows; nothing is copied.
func (t *table) Load(ctx context.Context, rows []int) ([]part.Instance, error) {
	if err := t.fetch(ctx); err != nil {
		return nil, err
	}
	out := make([]part.Instance, len(rows))
	for n, i := range rows {
		out[n] = part.Instance{Entry: t.entries[i], Line: t.lines[i], Row: i}
		if t.texts != nil {
			out[n].Text = t.texts[i]
		}
		if t.references != nil {
			out[n].References = t.references[i]
		}
	}
	return out, nil
}
