package inspect

import (
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/internal/safetext"
)

// pairUsage is what the calls of a pair used on average, by column.
type pairUsage struct {
	Pair string               `json:"pair"`
	Mean map[string]meanUsage `json:"mean"`
}

// meanUsage is the mean of a quantity over the rows on which it is known.
type meanUsage struct {
	Value float64 `json:"value"`
	Rows  int     `json:"rows"`
}

// usageOf summarises the usage of every pair of which some is known, and lists the columns of usage.
func usageOf(t *costs.Tensor) (pairs []pairUsage, columns []string) {
	a := t.Actions.Len()
	of := make([]pairUsage, a)
	for q, values := range t.Usage {
		if values == nil {
			continue
		}
		name := costs.Quantity(q).String()
		columns = append(columns, name)
		for i := range of {
			var m meanUsage
			for at := i; at < len(values); at += a {
				if v := float64(values[at]); v == v {
					m.Value += v
					m.Rows++
				}
			}
			if m.Rows == 0 {
				continue
			}
			m.Value /= float64(m.Rows)
			if of[i].Mean == nil {
				of[i].Mean = make(map[string]meanUsage)
			}
			of[i].Mean[name] = m
		}
	}
	for i, p := range of {
		if p.Mean != nil {
			p.Pair = t.Actions.Name(i)
			pairs = append(pairs, p)
		}
	}
	return pairs, columns
}

// writeUsage writes the mean usage of pairs, at most ten.
func (e *tensorExplanation) writeUsage(b *safetext.Fields) {
	const shown = 10
	for i, p := range e.Usage {
		heading := ""
		if i == 0 {
			heading = "mean usage"
		}
		if i == shown {
			b.Add("", "and %d more pairs, see --json", len(e.Usage)-shown)
			return
		}
		var parts []string
		for _, name := range e.quantities {
			if m, ok := p.Mean[name]; ok {
				part := fmt.Sprintf("%s %.4g", name, m.Value)
				if m.Rows < e.Rows {
					part += fmt.Sprintf(" (%d rows)", m.Rows)
				}
				parts = append(parts, part)
			}
		}
		b.Add(heading, "%s: %s", p.Pair, strings.Join(parts, ", "))
	}
}
