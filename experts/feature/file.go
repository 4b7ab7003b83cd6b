package feature

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// fileFeatures are joined by id from a separate file.
type fileFeatures struct {
	name string
	dim  int
	rows map[string][]float32
}

type fileFeaturesSettings struct {
	File    part.Path `json:"file"`
	ID      string    `json:"id"`
	Columns []string  `json:"columns"` // numeric, or a single list column; none: all but id and skip
	Skip    []string  `json:"skip"`    // columns that are not features
}

func newFileFeatures(ctx context.Context, s *part.Setup, settings map[string]any) (part.Feature, error) {
	cfg := fileFeaturesSettings{ID: "id"}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.File == "" {
		return nil, errors.New("file: not set")
	}
	file := s.Path(cfg.File)
	if err := s.File(ctx, "file", file); err != nil {
		return nil, err
	}
	f := &fileFeatures{name: file.Base(), rows: make(map[string][]float32)}
	if err := f.read(ctx, file, &cfg, s.Held); err != nil {
		return nil, err
	}
	return f, f.complete(file.String(), s.Source.Entries())
}

// columnsOf returns the names of id and features, in this order.
func (cfg *fileFeaturesSettings) columnsOf(c *part.Columns) ([]string, error) {
	others := append([]string{cfg.ID}, cfg.Skip...)
	if _, err := c.At(append(others, cfg.Columns...)...); err != nil {
		return nil, err
	}
	names := []string{cfg.ID}
	if len(cfg.Columns) > 0 {
		return append(names, cfg.Columns...), nil
	}
	left := make(map[string]bool, len(others))
	for _, name := range others {
		left[name] = true
	}
	for _, name := range c.Names {
		if name == "" {
			return nil, &costs.DataError{File: c.File.String(), Msg: "has a column without a name; give it one, or list the columns to read under columns"}
		}
		if !left[name] {
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return nil, &costs.DataError{File: c.File.String(), Msg: "has no column of features"}
	}
	return names, nil
}

func (f *fileFeatures) read(ctx context.Context, file storage.Location, cfg *fileFeaturesSettings, held *textfile.MemoryBudget) error {
	texts := textfile.NewTexts(held)
	var names []string
	var widths []int // numbers per column, from the first row
	return part.EachRow(ctx, file, func(have *part.Columns) (_ []string, err error) {
		names, err = cfg.columnsOf(have)
		return names, err
	}, func(cells []string, line int) error {
		bad := func(column, format string, args ...any) error {
			return &costs.DataError{File: file.String(), Row: line, Column: column, Msg: fmt.Sprintf(format, args...)}
		}
		id := cells[0]
		if _, ok := f.rows[id]; ok || id == "" {
			return bad(cfg.ID, "%q is empty or a duplicate", id)
		}
		values := make([]float32, 0, max(f.dim, len(cells)-1))
		for i, cell := range cells[1:] {
			v, err := numbers(cell)
			if err != nil {
				return bad(names[i+1], "%v", err)
			}
			if len(f.rows) == 0 {
				widths = append(widths, len(v))
			}
			if len(v) != widths[i] {
				return bad(names[i+1], "has %d numbers, the first row has %d", len(v), widths[i])
			}
			values = append(values, v...)
		}
		id, err := texts.Keep(id)
		if err == nil {
			err = held.Add(rowBytes + 4*int64(cap(values)))
		}
		f.dim, f.rows[id] = len(values), values
		return err
	})
}

// rowBytes is about the memory of a row in the map, without its id and its values.
const rowBytes = 64

// numbers parses a cell: one number or a JSON array of at least one.
func numbers(cell string) ([]float32, error) {
	if strings.HasPrefix(cell, "[") {
		var list []json.RawMessage
		if err := json.Unmarshal([]byte(cell), &list); err != nil {
			return nil, errors.New("is not a list of numbers")
		}
		if len(list) == 0 {
			return nil, errors.New("is an empty list")
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

func (f *fileFeatures) complete(file string, entries []part.Entry) error {
	var missing []string
	for _, e := range entries {
		if _, ok := f.rows[e.ID]; !ok {
			missing = append(missing, e.ID)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &costs.DataError{File: file, Msg: fmt.Sprintf("%d instances have no features: %s", len(missing), textfile.Listed(missing, part.NamesShown))}
}

func (f *fileFeatures) Name() string { return f.name }

// Dim returns the values per row of the file.
func (f *fileFeatures) Dim() int { return f.dim }

// Encode copies rows.
func (f *fileFeatures) Encode(_ context.Context, dst []float32, b *part.Batch) error {
	for n := range b.Instances {
		copy(dst[n*f.dim:], f.rows[b.Instances[n].ID])
	}
	return nil
}
