package outcome

import (
	"maps"
	"slices"

	"pipe/costs"
	"pipe/costs/observe"
)

// Observed names the columns with facts of answers, by the names of the facts.
type Observed map[string]string

// The kinds of facts, as Fact.Kind says them.
const (
	factNumbers = "numbers"
	factTexts   = "texts"
)

// observed are the columns of facts of every pair, or of all pairs, with the key that has them.
func (c *Config) observed() map[string]Observed {
	all := map[string]Observed{"outcomes.columns": c.Outcomes.Columns.Observed, "outcomes.wide": c.Outcomes.Wide.Observed}
	for _, p := range c.Outcomes.Wide.Pairs {
		all["outcomes.wide.pairs: "+p.Expert+"/"+p.Advice] = p.Observed
	}
	return all
}

// factNames are the names of all facts, sorted.
func (c *Config) factNames() []string {
	names := map[string]bool{}
	for _, o := range c.observed() {
		for name := range o {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// factKind is the kind of a fact as far as it is known before the table is read: as the configuration says, as in the
// tensor that rows are added to, or that of a standard fact. "": it depends on the values.
func (c *Config) factKind(name string) string {
	if kind := c.Outcomes.ObservedKinds[name]; kind != "" {
		return kind
	}
	if c.Base != nil {
		for _, f := range c.Base.Facts {
			if f.Name == name {
				return f.Kind()
			}
		}
	}
	return standardKind(name)
}

func standardKind(name string) string {
	switch {
	case observe.IsCategory(name):
		return factTexts
	case slices.Contains(observe.Names(), name):
		return factNumbers
	}
	return ""
}

func (c *Config) checkFacts(add func(bool, string, ...any)) {
	all := c.observed()
	for _, place := range slices.Sorted(maps.Keys(all)) {
		for _, name := range slices.Sorted(maps.Keys(all[place])) {
			err := costs.CheckFactName(name)
			add(err != nil, "%s.observed: %w", place, err)
			add(all[place][name] == "", "%s.observed.%s is empty; it must name a column", place, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Outcomes.ObservedKinds)) {
		kind, standard := c.Outcomes.ObservedKinds[name], standardKind(name)
		add(kind != factNumbers && kind != factTexts, "outcomes.observed_kinds.%s is %q; it must be numbers or texts", name, kind)
		add(standard != "" && kind != standard, "outcomes.observed_kinds.%s is %s, but %s is a standard fact of %s; give yours another name", name, kind, name, standard)
		add(!slices.Contains(c.factNames(), name), "outcomes.observed_kinds names %s, but no column of this fact is named by observed", name)
	}
}
