package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs/identity"
	"pipe/featurize/tabular"
	"pipe/pipeline/stage"
)

// tableEncoder makes the policy's features of raw rows, as they came before anything was featurized. Categories that no
// training row had get the encoder's code for them; columns that a row lacks count as missing; columns that the policy
// does not see are not looked at.
type tableEncoder struct {
	encoder *tabular.Encoder
	groups  *identity.Groups
	columns []string // that the policy sees
}

// openTable reads the encoder of the table that the policy was trained on. Another encoder is an *stage.OptionError.
func openTable(f *PolicyFile, path string) (*tableEncoder, error) {
	e, err := tabular.ReadEncoder(path)
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

// encode writes the features of one row into dst. values holds the row's numbers meanwhile, one per column of the
// encoder. A value that is not what its column holds is a *tabular.DataError with the column.
func (t *tableEncoder) encode(dst, values []float32, cell func(column string) (text string, ok bool)) error {
	if err := t.encoder.ParseRow(values, cell); err != nil {
		return err
	}
	t.groups.Encode(dst, values)
	return nil
}

// width is the number of values of a row.
func (t *tableEncoder) width() int { return len(t.encoder.Columns()) }

// encodeNamed is encode of columns by name. Names in which a minus stands for an underscore are the same.
func (t *tableEncoder) encodeNamed(dst, values []float32, row map[string]string) error {
	cells := make(map[string]string, len(row))
	for name, text := range row {
		if _, twice := cells[plainColumn(name)]; twice {
			return fmt.Errorf("column %q: duplicate", name)
		}
		cells[plainColumn(name)] = text
	}
	if !slices.ContainsFunc(t.columns, func(c string) bool { _, ok := cells[c]; return ok }) {
		return errors.New("has none of the columns that the policy sees, such as " + t.columns[0])
	}
	return t.encode(dst, values, func(column string) (string, bool) { text, ok := cells[column]; return text, ok })
}

// plainColumn is a column's name with underscores only: files of the same data write "id-01" and "id_01".
func plainColumn(name string) string { return strings.ReplaceAll(name, "-", "_") }
