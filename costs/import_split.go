package costs

import (
	"errors"
	"fmt"
)

// splitRows takes the splits from their column, else draws them.
func (m *importer) splitRows(t *Tensor, keep []int) ([]Split, error) {
	if m.splits == nil {
		return m.drawSplits(t)
	}
	splits := make([]Split, len(keep))
	for i, name := range m.splits.pick(keep) {
		var err error
		if splits[i], err = m.splitOf(name); err != nil {
			return nil, err
		}
	}
	return splits, nil
}

func (m *importer) drawSplits(t *Tensor) ([]Split, error) {
	splits, err := m.config.Split.draw().Draw(t.IDs, t.Labels, t.Groups)
	var data *DataError
	if errors.As(err, &data) {
		data.File, data.Msg = m.config.Outcomes.File, "split: "+data.Msg
	}
	return splits, err
}

// splitOf reads a word of the split column.
func (m *importer) splitOf(name string) (Split, error) {
	if to, ok := m.config.Split.Names[name]; ok {
		name = to
	}
	s, err := ParseSplit(name)
	if err != nil {
		return 0, &DataError{Column: m.splits.name, Msg: fmt.Sprintf("%v; split.names can map it", err)}
	}
	return s, nil
}
