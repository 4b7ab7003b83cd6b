package featurize

import (
	"context"
	"errors"
)

// WriteTable writes the values of a frame with its splits as a Parquet file.
func WriteTable(ctx context.Context, path string, e *TabularEncoder, f *Frame, split []string, progress func(rows int)) error {
	return errors.ErrUnsupported
}

// OpenTable opens a table file.
func OpenTable(path string) (*TableReader, error) { return nil, errors.ErrUnsupported }

// TableReader reads a table file.
type TableReader struct{}

// Encoder returns the encoder in the metadata.
func (t *TableReader) Encoder() *TabularEncoder { return nil }

// Len returns the number of rows.
func (t *TableReader) Len() int { return 0 }

// IDs returns the ids.
func (t *TableReader) IDs() []string { return nil }

// Labels returns the labels.
func (t *TableReader) Labels() []string { return nil }

// Splits returns the splits.
func (t *TableReader) Splits() []string { return nil }

// Read reads n rows from row from into dst, n x columns.
func (t *TableReader) Read(ctx context.Context, dst []float32, from, n int) error {
	return errors.ErrUnsupported
}

// Close closes the file.
func (t *TableReader) Close() error { return nil }
