package outcome

import (
	"errors"
	"fmt"

	"pipe/costs"
)

// splitRows reads the splits from their column, or draws them.
func (m *importer) splitRows(t *costs.Tensor, keep []int) ([]costs.Split, error) {
	if m.splits == nil {
		return m.drawSplits(t)
	}
	splits := make([]costs.Split, len(keep))
	for i, name := range m.splits.pick(keep) {
		var err error
		if splits[i], err = m.splitOf(name); err != nil {
			return nil, err
		}
	}
	return splits, nil
}

// drawSplits draws by ids, groups, labels and times, not by features or losses: see [costs.SplitDraw] on copies.
func (m *importer) drawSplits(t *costs.Tensor) ([]costs.Split, error) {
	draw := m.config.Split.Draw()
	if draw.Partial = m.config.Base != nil; draw.Partial && draw.Kind != costs.SplitHash {
		return nil, &costs.DataError{Msg: fmt.Sprintf("split: kind %s depends on all rows, also those of the tensor that rows are added to; kind %s or a column with the splits is needed", draw.Kind, costs.SplitHash)}
	}
	draw.Times = t.Times
	splits, err := draw.Draw(t.IDs, t.Labels, t.Groups)
	if data, ok := errors.AsType[*costs.DataError](err); ok {
		data.File, data.Msg = m.config.Outcomes.File.String(), "split: "+data.Msg
	}
	if !draw.Partial {
		m.report.Uneven = draw.Uneven(splits)
	}
	return splits, err
}

// splitOf reads a word of the split column.
func (m *importer) splitOf(name string) (costs.Split, error) {
	if to, ok := m.config.Split.Names[name]; ok {
		name = to
	}
	s, err := costs.ParseSplit(name)
	if err != nil {
		return 0, &costs.DataError{Column: m.splits.name, Msg: fmt.Sprintf("%v; map it with split.names", err)}
	}
	return s, nil
}
