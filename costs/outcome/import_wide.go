package outcome

import (
	"cmp"
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// expandWide finds the pairs of a wide table whose columns are given by
// patterns.
func (m *importer) expandWide(tab *tablefile.Table) error {
	w := m.config.Outcomes.Wide
	if !w.WidePattern.isSet() {
		return nil
	}
	x := expander{config: m.config, keys: w.keys(), names: tab.Names(), at: make(map[string]int)}
	for i, name := range slices.Backward(x.names) {
		x.at[name] = i
	}
	pairs, err := x.pairs()
	if err != nil {
		return inTable(tab.Path(), err)
	}
	kind, _ := w.value()
	m.config.Outcomes.Wide = WideForm{Value: kind, Pairs: pairs}
	return nil
}

// inTable adds the file to an error about its columns.
func inTable(file string, err error) error {
	if data, ok := err.(*costs.DataError); ok {
		data.File = file
		return data
	}
	return &costs.DataError{File: file, Err: err}
}

// expander finds the columns of pairs by patterns.
type expander struct {
	config *Config
	keys   []patternKey
	names  []string
	at     map[string]int // of a name, its first column
}

// pairs returns the pairs with their columns, in the order of the columns with
// their values.
func (x *expander) pairs() ([]WideColumn, error) {
	found, err := x.find()
	if err != nil {
		return nil, err
	}
	var pairs []WideColumn
	for _, p := range found {
		c, err := x.columns(p)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, c)
	}
	slices.SortStableFunc(pairs, func(a, b WideColumn) int { return cmp.Compare(x.at[a.Column], x.at[b.Column]) })
	for _, expert := range x.config.Experts {
		if !slices.ContainsFunc(pairs, func(c WideColumn) bool { return c.Expert == expert }) {
			return nil, fmt.Errorf("no column fits %q for the expert %s; the table has %s", x.keys[0].pattern, textfile.Quoted(expert), textfile.Listed(x.names, 12))
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no column fits %q; the table has %s", x.narrow()[0].String(), textfile.Listed(x.names, 12))
	}
	return pairs, nil
}

// narrow are the patterns that do not fit every column.
func (x *expander) narrow() (narrow []*tablefile.Pattern) {
	for _, k := range x.keys {
		if p, err := tablefile.ParsePattern(k.pattern); err == nil && k.pattern != bareExpert {
			narrow = append(narrow, p)
		}
	}
	return narrow
}

// find returns every pair that a column of a narrow pattern belongs to. Without
// such a pattern the experts are those of the configuration.
func (x *expander) find() (found []PairName, err error) {
	narrow := x.narrow()
	if len(narrow) == 0 {
		for _, expert := range x.config.Experts {
			found = append(found, PairName{Expert: expert})
		}
		return found, nil
	}
	seen := make(map[PairName]bool)
	for _, name := range x.names {
		for _, p := range narrow {
			values, err := p.Match(name)
			if err != nil {
				return nil, &costs.DataError{Column: name, Err: err}
			}
			if values == nil {
				continue
			}
			var pair PairName
			for i, key := range p.Names() {
				*map[string]*string{expertName: &pair.Expert, adviceName: &pair.Advice}[key] = values[i]
			}
			if !seen[pair] && !x.ignored(pair) {
				seen[pair] = true
				found = append(found, pair)
			}
		}
	}
	return found, nil
}

// ignored reports whether the configuration leaves a pair out.
func (x *expander) ignored(p PairName) bool {
	c := x.config
	unlisted := func(name string, list []string) bool { return len(list) > 0 && !slices.Contains(list, name) }
	return c.IgnoreUnlisted && (unlisted(p.Expert, c.Experts) || p.Advice != "" && unlisted(p.Advice, c.Advice))
}

// columns returns the columns of a pair, one for each pattern.
func (x *expander) columns(pair PairName) (WideColumn, error) {
	c := WideColumn{Expert: pair.Expert, Advice: pair.Advice, Observed: Observed{}}
	for _, k := range x.keys {
		p, err := tablefile.ParsePattern(k.pattern)
		if err != nil {
			return c, err
		}
		name := p.Fill(func(key string) string {
			return map[string]string{expertName: pair.Expert, adviceName: pair.Advice}[key]
		})
		if _, ok := x.at[name]; !ok {
			return c, &costs.DataError{Column: name, Msg: fmt.Sprintf("is missing, although the table has other columns of the expert %s; the table has %s",
				textfile.Quoted(pair.Expert), textfile.Listed(x.names, 12))}
		}
		if k.fact != "" {
			c.Observed[k.fact] = name
			continue
		}
		*k.column(&c) = name
	}
	return c, nil
}
