package outcome

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/textfile"
)

// wantPropensity prepares the column, if the configuration names one.
func (m *importer) wantPropensity(set *columnSet) {
	if name := m.config.Outcomes.Columns.Propensity; name != "" {
		m.propensity = &propensityColumn{name: name, cell: set.want(name), held: m.held}
	}
}

// addPropensities gives the tensor of the kept instances the column, if the configuration says anything of it. The
// propensities of pairs that were not executed are not known.
func (m *importer) addPropensities(t *costs.Tensor, keep []int) error {
	if m.propensity == nil && m.config.Outcomes.Propensity == "" {
		return nil
	}
	if err := m.held.AddCells(len(keep), t.Actions.Len(), bytesOfTime); err != nil {
		return err
	}
	t.Propensity = slices.Repeat([]float64{math.NaN()}, len(t.Loss))
	if m.propensity == nil {
		return nil
	}
	for row, n := range keep {
		t.Propensities(row)[t.Observed(row)] = m.propensity.at[n]
	}
	return nil
}

// mergePropensities takes those of a piece of the table.
func (m *importer) mergePropensities(all []float64, names *textfile.Names, ids []int) error {
	for k, p := range all {
		switch free, err := m.propensity.put(ids[k], p); {
		case err != nil:
			return asData(m.config.Outcomes.File.String(), err)
		case !free && !math.IsNaN(p):
			return m.again(m.propensity.name, severalRows(names.List()[ids[k]]))
		}
	}
	return nil
}
