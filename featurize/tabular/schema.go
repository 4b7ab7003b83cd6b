package tabular

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Schema is the column configuration: which column identifies a row,
// which one is the label, and which groups the others belong to. It is what a
// user edits; configs/fraud-columns.yaml is one.
//
// A minus sign in the name of a column, here or in the header of a file, stands
// for an underscore: "id-01" is "id_01".
type Schema struct {
	ID     string   `yaml:"id" json:"id"`       // column that identifies a row, in every file
	Label  string   `yaml:"label" json:"label"` // column of the label, in the primary file; a file may lack it
	Labels []string `yaml:"labels" json:"labels"`

	// Group is the column, in the primary file, of what rows have in common that
	// belong together: a card, a user. "": rows have no groups. It may also be a
	// column of a column group.
	Group string `yaml:"group" json:"group,omitempty"`

	// Time is the column of a group that holds, in the primary file, seconds since some midnight that
	// began the first day of a week, "" if there is none. Only the hour of the
	// day and the day of the week are made of it: no expert learns from when in
	// the history a row happened, which will not come back.
	Time string `yaml:"time" json:"time,omitempty"`

	// MaxLevels and MinCount say which categories have a code of their own: at
	// most MaxLevels per column, the most frequent ones, each in at least
	// MinCount training rows. The others are pooled.
	MaxLevels int `yaml:"max_levels" json:"max_levels"`
	MinCount  int `yaml:"min_count" json:"min_count"`

	// Log lists numeric columns with heavy tails, which the dense layout has as
	// sign(x) ln(1 + |x|). Names and ranges.
	Log []string `yaml:"log" json:"log,omitempty"`

	// Strict makes a column of a file that no group has an error; otherwise such
	// columns are left out and reported.
	Strict bool `yaml:"strict" json:"strict,omitempty"`

	Groups []Group `yaml:"groups" json:"groups"` // in the order of disclosure; the first is seen without paying
}

// Group is a set of columns that are disclosed together. A name may be a
// range, "V1-V339" or "id_01-id_11": the same text with every number between,
// written as wide as the first one.
type Group struct {
	Name        string   `yaml:"name" json:"name"`
	About       string   `yaml:"about" json:"about,omitempty"` // why these columns belong together
	Numeric     []string `yaml:"numeric" json:"numeric,omitempty"`
	Categorical []string `yaml:"categorical" json:"categorical,omitempty"`

	lines map[string]int // where the configuration file has each name, for errors; nil without a file
}

// UnmarshalYAML reads a group and remembers the lines of its columns.
func (g *Group) UnmarshalYAML(n *yaml.Node) error {
	type plain Group // without this method
	if err := n.Load((*plain)(g), yaml.WithKnownFields()); err != nil {
		return err
	}
	g.lines = map[string]int{}
	for _, list := range n.Content {
		for _, item := range list.Content {
			g.lines[item.Value] = item.Line
		}
	}
	return nil
}

// place says in which group, and on which line if that is known, a name stands.
func (g *Group) place(name string) string {
	if line, ok := g.lines[name]; ok {
		return fmt.Sprintf("in group %q (line %d)", g.Name, line)
	}
	return fmt.Sprintf("in group %q", g.Name)
}

// Limits of a schema: the columns of a range, and the levels of a column, whose
// codes must be exact as float32.
const (
	maxRange  = 10_000
	maxLevels = 1 << 20
)

// schemaColumn is one column of a schema with what the schema says about it.
type schemaColumn struct {
	name        string
	group       int
	categorical bool
	time        bool
	log         bool
}

// Validate reports every problem at once.
func (s *Schema) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	s.checkLabels(add)
	if s.MaxLevels < 1 || s.MaxLevels > maxLevels {
		add("max_levels is %d; it must be between 1 and %d", s.MaxLevels, maxLevels)
	}
	if s.MinCount < 1 {
		add("min_count is %d; it must be at least 1", s.MinCount)
	}
	if len(s.Groups) == 0 {
		add("groups: not set")
	}
	for i, g := range s.Groups {
		switch {
		case g.Name == "":
			add("group %d has no name", i+1)
		case slices.ContainsFunc(s.Groups[:i], func(o Group) bool { return o.Name == g.Name }):
			add("group %q is a duplicate", g.Name)
		}
		if len(g.Numeric)+len(g.Categorical) == 0 {
			add("group %q has no columns", g.Name)
		}
	}
	_, wrong := s.columns()
	return errors.Join(append(problems, wrong...)...)
}

func (s *Schema) checkLabels(add func(string, ...any)) {
	if s.ID == "" {
		add("id: not set; it names the column that identifies a row")
	}
	if s.Label == "" {
		add("label: not set; it names the column of the label")
	}
	if s.ID != "" && columnName(s.ID) == columnName(s.Label) {
		add("column %s is both id and label", columnName(s.ID))
	}
	if g := columnName(s.Group); g != "" && (g == columnName(s.ID) || g == columnName(s.Label)) {
		add("group: column %s is the id or the label", g)
	}
	if n := len(s.Labels); n < 2 || n > 127 {
		add("labels: there are %d; there must be 2 to 127, the negative one first", n)
	}
	for i, l := range s.Labels {
		if l == "" || slices.ContainsFunc(s.Labels[:i], func(o string) bool { return plainLevel(o) == plainLevel(l) }) {
			add("labels: %q is empty or a duplicate", l)
		}
	}
}

// columns expands the ranges: group after group, numeric columns first. The
// errors are those that the lists of columns have.
func (s *Schema) columns() ([]schemaColumn, []error) {
	c := columnCheck{schema: s, home: map[string]string{
		columnName(s.ID): "the id", columnName(s.Label): "the label",
	}}
	for i, g := range s.Groups {
		c.take(i, g.Numeric, false)
		c.take(i, g.Categorical, true)
	}
	c.markLog()
	if t := columnName(s.Time); t != "" {
		i := slices.IndexFunc(c.columns, func(x schemaColumn) bool { return x.name == t })
		if i < 0 || c.columns[i].categorical {
			c.add("time: no group has a numeric column %s", t)
		} else {
			c.columns[i].time = true
			if c.columns[i].log {
				c.add("log: column %s is the time", t)
			}
		}
	}
	return c.columns, c.problems
}

// columnCheck collects the columns of all groups and what is wrong with them.
type columnCheck struct {
	schema   *Schema
	home     map[string]string // what a column is already
	columns  []schemaColumn
	problems []error
}

func (c *columnCheck) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

func (c *columnCheck) take(group int, patterns []string, categorical bool) {
	for _, p := range patterns {
		here := c.schema.Groups[group].place(p)
		for _, name := range c.expand(here, p) {
			switch before, taken := c.home[name]; {
			case taken && before == here:
				c.add("column %s is a duplicate %s", name, here)
			case taken:
				c.add("column %s is both %s and %s", name, before, here)
			case slices.Contains(tableColumns, name), name == columnGroup && c.schema.Group != "":
				c.add("column %s %s: the name is reserved for a column of the table file", name, here)
			default:
				c.home[name] = here
				c.columns = append(c.columns, schemaColumn{name: name, group: group, categorical: categorical})
			}
		}
	}
}

func (c *columnCheck) markLog() {
	for _, name := range c.expand("in log", c.schema.Log...) {
		i := slices.IndexFunc(c.columns, func(x schemaColumn) bool { return x.name == name })
		if i < 0 || c.columns[i].categorical {
			c.add("log: no group has a numeric column %s", name)
			continue
		}
		c.columns[i].log = true
	}
}

func (c *columnCheck) expand(where string, patterns ...string) (names []string) {
	for _, p := range patterns {
		more, err := expandRange(p)
		if err != nil {
			c.add("%s: %w", strings.TrimPrefix(where, "in "), err)
		}
		names = append(names, more...)
	}
	return names
}

var columnRange = regexp.MustCompile(`^(.*?)(\d+)-(.*?)(\d+)$`)

// expandRange returns the columns that a name or a range stands for.
func expandRange(pattern string) ([]string, error) {
	m := columnRange.FindStringSubmatch(pattern)
	if m == nil {
		if pattern == "" {
			return nil, errors.New("a column has no name")
		}
		return []string{columnName(pattern)}, nil
	}
	first, err1 := strconv.Atoi(m[2])
	last, err2 := strconv.Atoi(m[4])
	switch {
	case err1 != nil || err2 != nil || last-first >= maxRange:
		return nil, fmt.Errorf("range %q has more than %d columns", pattern, maxRange)
	case m[1] != m[3]:
		return nil, fmt.Errorf("range %q begins with %q and ends with %q", pattern, m[1], m[3])
	case last < first:
		return nil, fmt.Errorf("the end of range %q is less than its beginning", pattern)
	}
	var names []string
	for i := first; i <= last; i++ {
		names = append(names, columnName(fmt.Sprintf("%s%0*d", m[1], len(m[2]), i)))
	}
	return names, nil
}

// columnName is the one spelling of a column.
func columnName(s string) string { return strings.ReplaceAll(s, "-", "_") }
