package decide

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pipe/costs/identity"
	"pipe/featurize/tabular"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// tableEncoder computes the policy's features from raw rows, as they were before pipe featurize. Categories that are
// not in the training rows get the encoder's code for them; columns that a row lacks count as missing; columns that the
// policy does not use are ignored.
type tableEncoder struct {
	encoder *tabular.Encoder
	groups  *identity.Groups
	columns []string // that the policy uses
}

// openTable reads the encoder of the table that the policy was trained on. Another encoder is an *stage.OptionError.
func openTable(ctx context.Context, f *PolicyFile, path storage.Location) (*tableEncoder, error) {
	e, err := tabular.ReadEncoder(ctx, path)
	if err != nil {
		return nil, err
	}
	g, err := identity.GroupsOf(f.Info.Actions, e)
	if err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("encoder %q: %w", path, err)}
	}
	if g.Dim() != f.Info.Dim {
		return nil, &stage.OptionError{Err: fmt.Errorf("policy %q: takes %d features, the encoder makes %d", f.path, f.Info.Dim, g.Dim())}
	}
	return newTableEncoder(e, g), nil
}

func newTableEncoder(e *tabular.Encoder, g *identity.Groups) *tableEncoder {
	t := &tableEncoder{encoder: e, groups: g}
	for _, c := range e.Columns() {
		if g.Reads(c) {
			t.columns = append(t.columns, c.Name)
		}
	}
	return t
}

// encode writes the features of one row into dst. values is a buffer for the row's numbers, one per column of the
// encoder. A value that is invalid for its column is a *tabular.DataError with the column.
func (t *tableEncoder) encode(dst, values []float32, cell func(column string) (text string, ok bool)) error {
	if err := t.encoder.ParseRow(values, cell); err != nil {
		return err
	}
	t.groups.Encode(dst, values)
	return nil
}

// width is the number of values of a row.
func (t *tableEncoder) width() int { return len(t.encoder.Columns()) }

// encodeNamed is encode for columns by name. In names, minus and underscore are equivalent.
func (t *tableEncoder) encodeNamed(dst, values []float32, row map[string]string) error {
	cells := make(map[string]string, len(row))
	for name, text := range row {
		if _, twice := cells[plainColumn(name)]; twice {
			return fmt.Errorf("column %q: duplicate", name)
		}
		cells[plainColumn(name)] = text
	}
	if !slices.ContainsFunc(t.columns, func(c string) bool { _, ok := cells[c]; return ok }) {
		if len(t.columns) == 0 {
			return errors.New("the policy uses no column")
		}
		return errors.New("has none of the columns that the policy uses, such as " + t.columns[0])
	}
	for _, c := range t.columns {
		if !utf8.ValidString(cells[c]) {
			return fmt.Errorf("column %q: %w", c, errNotText)
		}
	}
	return t.encode(dst, values, func(column string) (string, bool) { text, ok := cells[column]; return text, ok })
}

// plainColumn is the column name with underscores only: files with the same data have "id-01" or "id_01".
func plainColumn(name string) string { return strings.ReplaceAll(name, "-", "_") }
