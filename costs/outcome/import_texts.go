package outcome

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// encodeTexts computes the vectors of the kept instances.
func (m *importer) encodeTexts(ctx context.Context, keep []int) error {
	for i, b := range m.features {
		if len(b.texts) == 0 {
			continue
		}
		if err := m.encodeBlock(ctx, b, m.config.Features[i].Text, keep); err != nil {
			return fmt.Errorf("features[%d].text: %w", i, err)
		}
	}
	return nil
}

func (m *importer) encodeBlock(ctx context.Context, b *featureBlock, c TextColumns, keep []int) error {
	if m.config.OpenText == nil {
		return errors.New("there are no encoders of texts here")
	}
	encoder, err := m.config.OpenText(ctx, c.Encoder)
	if err != nil {
		return err
	}
	v := &b.vectors
	v.digest = encoder.Digest()
	v.name, v.identity = encoder.Identity()
	if v.rows, err = encoder.Vectors(ctx, b.joinedTexts(keep)); err != nil || len(keep) == 0 {
		return err
	}
	for i := range v.rows[0] {
		v.names = append(v.names, fmt.Sprintf("vector of %s[%d]", strings.Join(c.Columns, ", "), i))
	}
	return m.held.AddCells(len(keep), len(v.names), bytesOfValue)
}

// onlyVectors are the vectors that are all of the features, nil if there are
// other features.
func (m *importer) onlyVectors() *textVectors {
	var only *textVectors
	for _, b := range m.features {
		switch {
		case len(b.numbers)+len(b.categorical) > 0 || only != nil && len(b.texts) > 0:
			return nil
		case len(b.texts) > 0:
			only = &b.vectors
		}
	}
	return only
}
