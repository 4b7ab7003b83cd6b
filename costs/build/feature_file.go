package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pipe/costs"
	"pipe/internal/textfile"
)

// fileFeatures are joined by id from a file of their own.
type fileFeatures struct {
	name string
	dim  int
	rows map[string][]float32
}

type fileFeaturesSettings struct {
	File    Path     `json:"file"`
	ID      string   `json:"id"`
	Columns []string `json:"columns"` // numeric, or a single list column; none: all but id and skip
	Skip    []string `json:"skip"`    // columns that are no features
}

func newFileFeatures(ctx context.Context, s *Setup, settings map[string]any) (Feature, error) {
	cfg := fileFeaturesSettings{ID: "id"}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.File == "" {
		return nil, errors.New("file: none is named")
	}
	file := s.Path(cfg.File)
	if err := s.File(ctx, "file", file); err != nil {
		return nil, err
	}
	t, err := readTable(ctx, file)
	if err != nil {
		return nil, err
	}
	f := &fileFeatures{name: filepath.Base(file), rows: make(map[string][]float32, len(t.cells))}
	if err := f.read(t, &cfg); err != nil {
		return nil, err
	}
	return f, f.complete(file, s.Source.Entries())
}

// columnsOf returns the positions of id and of the features.
func (cfg *fileFeaturesSettings) columnsOf(c *Columns) (id int, at []int, err error) {
	skip, err := c.Find(append([]string{cfg.ID}, cfg.Skip...)...)
	if err != nil {
		return 0, nil, err
	}
	if len(cfg.Columns) > 0 {
		at, err = c.Find(cfg.Columns...)
		return skip[0], at, err
	}
	left := make([]bool, len(c.Names))
	for _, i := range skip {
		left[i] = true
	}
	for i := range c.Names {
		if !left[i] {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return 0, nil, &costs.DataError{File: c.File, Msg: "has no column of features"}
	}
	return skip[0], at, nil
}

func (f *fileFeatures) read(t *table, cfg *fileFeaturesSettings) error {
	id, at, err := cfg.columnsOf(t.columns)
	if err != nil {
		return err
	}
	for i, row := range t.cells {
		bad := func(column, format string, args ...any) error {
			return &costs.DataError{File: t.columns.File, Row: t.lines[i], Column: column, Msg: fmt.Sprintf(format, args...)}
		}
		if _, ok := f.rows[row[id]]; ok || row[id] == "" {
			return bad(cfg.ID, "%q is empty or there already", row[id])
		}
		var values []float32
		for _, c := range at {
			v, err := numbers(row[c])
			if err != nil {
				return bad(t.columns.Names[c], "%v", err)
			}
			values = append(values, v...)
		}
		if i == 0 {
			f.dim = len(values)
		}
		if len(values) != f.dim {
			return bad("", "has %d features, the first row has %d", len(values), f.dim)
		}
		f.rows[row[id]] = values
	}
	return nil
}

// numbers parses a cell: one number or a JSON array of them.
func numbers(cell string) ([]float32, error) {
	if strings.HasPrefix(cell, "[") {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(cell), &list); err != nil {
			return nil, errors.New("is not a list of numbers")
		}
		values := make([]float32, len(list))
		for i, text := range list {
			v, err := textfile.ParseFloat32(string(text))
			if err != nil {
				return nil, fmt.Errorf("element %d, %s, %w", i, textfile.Short(string(text)), err)
			}
			values[i] = v
		}
		return values, nil
	}
	v, err := textfile.ParseFloat32(cell)
	if err != nil {
		return nil, fmt.Errorf("%q is not a finite number", textfile.Short(cell))
	}
	return []float32{v}, nil
}

func (f *fileFeatures) complete(file string, entries []Entry) error {
	var missing []string
	for _, e := range entries {
		if _, ok := f.rows[e.ID]; !ok {
			missing = append(missing, e.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &costs.DataError{File: file, Msg: fmt.Sprintf("%d instances have no features: %s", len(missing), costs.Listed(missing, namesShown))}
}

func (f *fileFeatures) Name() string { return f.name }

// Dim returns the values per row of the file.
func (f *fileFeatures) Dim() int { return f.dim }

// Encode copies rows.
func (f *fileFeatures) Encode(_ context.Context, dst []float32, b *Batch) error {
	for n := range b.Instances {
		copy(dst[n*f.dim:], f.rows[b.Instances[n].ID])
	}
	return nil
}
