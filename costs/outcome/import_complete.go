package outcome

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/textfile"
)

// shownMissing is how many ids or cells an error or a report lists.
const shownMissing = 5

// complete returns the instances with complete data, or with MissingKeep those
// that lack nothing but some outcomes. With MissingError missing data are an
// error with their number.
func (m *importer) complete(a *costs.Actions, order []int) ([]int, error) {
	var keep []int
	cells, features := gap{what: "an outcome for every pair"}, gap{what: "features"}
	properties := m.properties()
	var firstCells []string
	keepSome := m.config.missing() == MissingKeep
	if keepSome {
		cells.what = "any outcome"
	}
	mask := a.Mask()
	available := a.Len() - len(a.Unavailable)
	columns := make([]*outcomeColumn, len(order))
	for i := range order {
		columns[i] = m.outcomes.number(order[i])
	}
	for n, id := range m.outcomes.ids.List() {
		missing := 0
		for i, c := range columns {
			switch have := c.has(n); {
			case have && !mask[i]:
				return nil, &costs.DataError{
					File: m.config.Outcomes.File.String(),
					Msg:  fmt.Sprintf("instance %s has an outcome for %s, which is listed as unavailable", textfile.Quoted(id), a.Name(i)),
				}
			case !have && mask[i]:
				missing++
				if len(firstCells) < shownMissing {
					firstCells = append(firstCells, fmt.Sprintf("%s %s", textfile.Quoted(id), a.Name(i)))
				}
			}
		}
		m.report.MissingCells += missing
		lacks := slices.IndexFunc(properties, func(p property) bool { return !p.has(n) })
		switch {
		case missing > 0 && !(keepSome && missing < available):
			cells.add(id)
			m.noteSpelling(m.config.Outcomes.File.String(), id)
		case !m.hasFeatures(n):
			features.add(id)
		case lacks >= 0:
			properties[lacks].add(id)
		default:
			keep = append(keep, n)
		}
	}
	gaps := []gap{cells, features}
	for _, p := range properties {
		gaps = append(gaps, p.gap)
	}
	for _, g := range gaps {
		if g.count > 0 {
			m.report.Dropped = append(m.report.Dropped, Dropped{Reason: "without " + g.what, Count: g.count, First: g.first})
		}
	}
	return keep, m.incomplete(keep, firstCells)
}

// property is a property of an instance that a column has, such as its group.
type property struct {
	gap                  // the instances that lack it
	has func(n int) bool // reports whether an instance has it
}

// properties are those of which there are columns.
func (m *importer) properties() (out []property) {
	for _, p := range []struct {
		what   string
		column *textColumn
	}{{"a label", m.labels}, {"a split", m.splits}, {"a group", m.groups}, {"a reference", m.references}, {"a question", m.questions}} {
		if p.column != nil {
			out = append(out, property{gap{what: p.what}, p.column.has})
		}
	}
	if m.times != nil {
		out = append(out, property{gap{what: "a time"}, m.times.has})
	}
	return out
}

// gap counts instances with missing data of one sort.
type gap struct {
	what  string
	count int
	first []string
}

func (g *gap) add(id string) {
	if g.count++; g.count <= shownMissing {
		g.first = append(g.first, id)
	}
}

// incomplete returns the error of missing data, nil if missing data are allowed.
func (m *importer) incomplete(keep []int, firstCells []string) error {
	may := m.config.missing() != MissingError
	if len(m.report.Dropped) == 0 || may && len(keep) > 0 {
		return nil
	}
	var parts []string
	for _, d := range m.report.Dropped {
		part := fmt.Sprintf("%d of %d instances are %s (%s", d.Count, m.report.Instances, d.Reason, textfile.Listed(d.First, shownMissing))
		if d.Count > len(d.First) {
			part += ", ..."
		}
		parts = append(parts, part+")")
	}
	msg := strings.Join(parts, "; ")
	if m.report.MissingCells > 0 {
		msg += fmt.Sprintf("; %d cells are missing, first %s", m.report.MissingCells, strings.Join(firstCells, ", "))
	}
	if m.report.Spelling != "" {
		msg += "; " + m.report.Spelling
	}
	switch {
	case may:
		msg += "; nothing is left"
	case m.report.MissingCells > 0:
		msg += "; missing: drop leaves such instances out, missing: keep keeps those with some outcomes"
	default:
		msg += "; missing: drop leaves such instances out"
	}
	return &costs.DataError{File: m.config.Outcomes.File.String(), Msg: msg}
}
