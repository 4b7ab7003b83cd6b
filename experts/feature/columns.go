package feature

import (
	"context"
	"errors"

	"pipe/experts/builder/part"
)

// columnFeatures are numeric columns of the table that the instances come from.
type columnFeatures struct {
	columns *part.Columns
	at      []int
	missing *float32
}

type columnFeaturesSettings struct {
	Columns []string `json:"columns"`
	Missing *float32 `json:"missing"` // value of an empty cell; without it an empty cell is an error
}

func newColumnFeatures(_ context.Context, s *part.Setup, settings map[string]any) (part.Feature, error) {
	var cfg columnFeaturesSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if len(cfg.Columns) == 0 {
		return nil, errors.New("columns: not set")
	}
	at, err := s.Source.Columns().Find(cfg.Columns...)
	return &columnFeatures{s.Source.Columns(), at, cfg.Missing}, err
}

func (f *columnFeatures) Name() string { return "columns" }

// Dim returns the number of columns.
func (f *columnFeatures) Dim() int { return len(f.at) }

// Encode writes the cells as numbers, unscaled: the policy standardises its inputs.
func (f *columnFeatures) Encode(_ context.Context, dst []float32, b *part.Batch) error {
	for n := range b.Instances {
		for i, column := range f.at {
			v, err := f.columns.NumberOr(&b.Instances[n], column, f.missing)
			if err != nil {
				return err
			}
			dst[n*len(f.at)+i] = v
		}
	}
	return nil
}
