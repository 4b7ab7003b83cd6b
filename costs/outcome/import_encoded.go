package outcome

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/internal/textfile"
)

// encodeColumns computes the vectors of the kept instances.
func (m *importer) encodeColumns(ctx context.Context, keep []int, ids []string) error {
	for i, b := range m.features {
		for _, e := range b.encoded {
			f := m.config.Features[i]
			err := m.encode(ctx, e, f, keep)
			if bad, ok := errors.AsType[*BadValueError](err); ok {
				err = &costs.DataError{
					File: m.featureFile(f).String(), Column: e.columns[0].name,
					Msg: fmt.Sprintf("instance %s: %s", textfile.Quoted(ids[bad.Index]), textfile.Quoted(e.joined(keep)[bad.Index])), Err: bad.Err,
				}
			}
			if err != nil {
				return fmt.Errorf("features[%d].%s: %w", i, e.setting, err)
			}
		}
	}
	return nil
}

// encode computes the vectors of one setting of a table.
func (m *importer) encode(ctx context.Context, b *encodedBlock, f FeatureTable, keep []int) error {
	open, name, values := m.config.OpenText, f.Text.Encoder, b.joined(keep)
	if b.setting == imageSetting {
		open, name = m.config.OpenImage, f.Image.Encoder
		for i, named := range values {
			values[i] = f.Image.path(m.featureFile(f), named)
		}
	}
	if open == nil {
		return errors.New("there are no encoders here")
	}
	encoder, err := open(ctx, name, f.Image.Decoder)
	if err != nil {
		return err
	}
	b.digest, b.decoder = encoder.Digest(), encoder.Decoder()
	b.name, b.identity = encoder.Identity()
	if b.vectors, err = encoder.Vectors(ctx, values); err != nil || len(keep) == 0 {
		return err
	}
	var columns []string
	for _, c := range b.columns {
		columns = append(columns, c.name)
	}
	for i := range b.vectors[0] {
		b.names = append(b.names, vectorName(strings.Join(columns, ", "), i))
	}
	return m.held.AddCells(len(keep), len(b.names), bytesOfValue)
}

// BadValueError is a value that an encoder cannot read, by its position among
// the values.
type BadValueError struct {
	Index int
	Err   error
}

func (e *BadValueError) Error() string { return fmt.Sprintf("value %d: %v", e.Index, e.Err) }

// Unwrap returns the underlying error.
func (e *BadValueError) Unwrap() error { return e.Err }

// onlyVectors are the vectors that are all of the features, nil if there are
// other features.
func (m *importer) onlyVectors() *encodedBlock {
	var all []*encodedBlock
	for _, b := range m.features {
		if len(b.numbers)+len(b.categorical) > 0 {
			return nil
		}
		all = append(all, b.encoded...)
	}
	if len(all) == 1 {
		return all[0]
	}
	return nil
}
