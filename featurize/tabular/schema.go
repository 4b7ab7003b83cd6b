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

// Schema is the column configuration. It says which column identifies a row,
// which one is the label, and to which groups the other columns belong. Users
// edit it as a file, such as configs/fraud-columns.yaml.
//
// A minus sign in the name of a column, here or in the header of a file, means
// an underscore: "id-01" is "id_01".
type Schema struct {
	ID     string   `yaml:"id" json:"id"`       // column that identifies a row, in every file
	Label  string   `yaml:"label" json:"label"` // column of the label, in the primary file; a file may lack it
	Labels []string `yaml:"labels" json:"labels"`

	// Group is a column of the primary file with the group of each row: rows
	// that belong together, such as those of a card or a user. "": rows have no
	// groups. It may also be a column of a column group.
	Group string `yaml:"group" json:"group,omitempty"`

	// Time is a column of a group, in the primary file. It has seconds since midnight at the beginning of the first day
	// of a week; "": none. Only the hour of the day and the day of the week are used, so that experts cannot learn from
	// the absolute time, which does not recur.
	Time string `yaml:"time" json:"time,omitempty"`

	// MaxLevels and MinCount determine which categories have their own codes:
	// at most MaxLevels per column, the most frequent ones, each in at least
	// MinCount training rows. The others are pooled.
	MaxLevels int `yaml:"max_levels" json:"max_levels"`
	MinCount  int `yaml:"min_count" json:"min_count"`

	// Log lists numeric columns with heavy tails, by name or range. The dense
	// layout uses sign(x) ln(1 + |x|) for them.
	Log []string `yaml:"log" json:"log,omitempty"`

	// Strict rejects columns of a file that are in no group; otherwise such
	// columns are dropped and reported.
	Strict bool `yaml:"strict" json:"strict,omitempty"`

	Groups []Group `yaml:"groups" json:"groups"` // in the order of disclosure; the first is free
}

// Group is a set of columns that are disclosed together. A name may be a range,
// "V1-V339" or "id_01-id_11". It stands for the same text with every number of
// the range, padded to the width of the first number.
type Group struct {
	Name        string   `yaml:"name" json:"name"`
	About       string   `yaml:"about" json:"about,omitempty"` // why these columns belong together
	Numeric     []string `yaml:"numeric" json:"numeric,omitempty"`
	Categorical []string `yaml:"categorical" json:"categorical,omitempty"`

	lines map[string]int // line of each name in the configuration file, for errors; nil without a file
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

// place describes the group of a name, with the line if it is known.
func (g *Group) place(name string) string {
	if line, ok := g.lines[name]; ok {
		return fmt.Sprintf("in group %q (line %d)", g.Name, line)
	}
	return fmt.Sprintf("in group %q", g.Name)
}

// Limits of a schema: the columns of a range, and the levels of a column. Codes
// of levels must be exact as float32.
const (
	maxRange  = 10_000
	maxLevels = 1 << 20
)

// schemaColumn is one column of a schema with its settings.
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
// errors are the problems of the lists of columns.
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

// columnCheck collects the columns of all groups and their problems.
type columnCheck struct {
	schema   *Schema
	home     map[string]string // where a column is already used
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

// expandRange returns the columns of a name or a range.
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

// columnName is the normal form of the name of a column.
func columnName(s string) string { return strings.ReplaceAll(s, "-", "_") }
