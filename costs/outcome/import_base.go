package outcome

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/textfile"
)

// fixCategories gives categorical columns the values that have features in the
// tensor that the rows are added to.
func (m *importer) fixCategories(keep []int, ids []string) error {
	base := m.config.Base
	if base == nil || !slices.ContainsFunc(m.features, func(b *featureBlock) bool { return len(b.categorical) > 0 }) {
		return nil
	}
	if base.FeatureNames == nil {
		return &costs.DataError{Column: costs.NamesKey, Msg: "the tensor does not record the names of its features, so categories cannot get the same ones"}
	}
	names := base.FeatureNames
	for i, b := range m.features {
		for _, name := range b.numbers {
			if len(names) == 0 || names[0] != name {
				return &costs.DataError{File: m.featureFile(m.config.Features[i]).String(), Column: "features", Msg: fmt.Sprintf("feature %d is %s, but the tensor has %s there",
					len(base.FeatureNames)-len(names), textfile.Quoted(name), textfile.Listed(names[:min(1, len(names))], 1))}
			}
			names = names[1:]
		}
		for _, c := range b.categorical {
			c.levels = []string{}
			for len(names) > 0 && strings.HasPrefix(names[0], c.name+"=") {
				c.levels = append(c.levels, names[0][len(c.name)+1:])
				names = names[1:]
			}
			if err := m.checkCategories(c, keep, ids, m.featureFile(m.config.Features[i]).String()); err != nil {
				return err
			}
		}
		for _, e := range b.encoded {
			names = names[min(len(e.names), len(names)):]
		}
	}
	return nil
}

// checkCategories looks for values without a feature.
func (m *importer) checkCategories(c *textColumn, keep []int, ids []string, file string) error {
	rows := make([]int, c.values.Len())
	for i, n := range keep {
		v := c.at.get(n)
		if rows[v]++; rows[v] > 1 || slices.Contains(c.levels, c.values.List()[v]) {
			continue
		}
		if !m.config.Base.NewCategories {
			advice := "no feature of this column where the configuration puts it; the columns of features must be those of the tensor"
			if len(c.levels) > 0 {
				advice = textfile.Listed(c.levels, 12) + "; --new-categories gives such rows 0 in all of them"
			}
			return &costs.DataError{File: file, Column: c.name, Msg: fmt.Sprintf("instance %s has the value %s, for which the tensor has no feature; it has %s",
				textfile.Quoted(ids[i]), textfile.Quoted(c.values.List()[v]), advice)}
		}
	}
	for v, count := range rows {
		if value := c.values.List()[v]; count > 0 && !slices.Contains(c.levels, value) {
			m.report.NewCategories = append(m.report.NewCategories, NewCategory{c.name, value, count})
		}
	}
	return nil
}
