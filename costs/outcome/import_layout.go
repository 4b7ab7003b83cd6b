package outcome

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
)

// openFeatures opens a table of features, which may be that of the outcomes.
func (m *importer) openFeatures(ctx context.Context, f *FeatureTable) (*tablefile.Table, error) {
	return m.featureLayout(f).Open(ctx)
}

func (m *importer) featureLayout(f *FeatureTable) tablefile.Layout {
	if f.File.IsZero() {
		return m.config.Outcomes.layout()
	}
	return f.Layout.at(f.File)
}

// partsOf are the files of a table by the names under which their digests are
// kept.
func partsOf(ctx context.Context, l tablefile.Layout) (map[string]storage.Location, error) {
	files, err := l.Files(ctx)
	if err != nil {
		return nil, err
	}
	named := make(map[string]storage.Location, len(files))
	for _, file := range files {
		name, ok := l.Path.Rel(file)
		if !ok || name == "." {
			name = file.Base()
		}
		named[name] = file
	}
	return named, nil
}

// repeat reads another row of an instance that has features, which must be the
// same. Only a table of outcomes in long form has such rows.
func (r *featureRow) repeat(b *featureBlock, n int, cells tablefile.Row) error {
	values, there := b.values[n*r.width:(n+1)*r.width], b.there[n]
	r.earlier = append(r.earlier[:0], values...)
	if err := r.read(b, n, cells); err != nil {
		return err
	}
	if b.there[n] != there {
		return &costs.DataError{Msg: "some features are missing in this row and not in an earlier one of the same instance, or the other way round"}
	}
	for i, v := range values {
		if v != r.earlier[i] && there {
			return &costs.DataError{Column: b.numbers[i], Msg: fmt.Sprintf("is %v, but earlier in the same instance %v", v, r.earlier[i])}
		}
	}
	copy(values, r.earlier)
	return nil
}

// openOutcomes opens the table of outcomes and finds its pairs.
func (m *importer) openOutcomes(ctx context.Context) (*tablefile.Table, error) {
	tab, err := m.config.Outcomes.layout().Open(ctx)
	if err != nil {
		return nil, m.expecting(err)
	}
	if err := m.expandWide(tab); err != nil {
		tab.Close()
		return nil, m.expecting(err)
	}
	return tab, nil
}

// expecting adds what the preset expects to an error about the layout of a
// table: one without a row.
func (m *importer) expecting(err error) error {
	var data *costs.DataError
	var hint interface{ Hint() string }
	p, ok := FindPreset(m.config.Preset)
	if !ok || !errors.As(err, &data) || data.Row > 0 || data.Line > 0 || errors.As(err, &hint) {
		return err
	}
	said := *data
	if said.Err = nil; data.Err != nil {
		said.Msg = strings.TrimPrefix(data.Msg+": "+data.Err.Error(), ": ")
	}
	said.Msg += fmt.Sprintf("; the preset %s expects %s", p.Name, p.Expects)
	return &said
}
