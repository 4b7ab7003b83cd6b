package outcome

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// textColumn is one string per instance, -1 while it is not known.
type textColumn struct {
	name   string
	values *textfile.Names
	keys   *keys
	at     vector[int32]
	levels []string // the values that have features; nil: those that occur
}

func newTextColumn(set *columnSet, name string, held *textfile.MemoryBudget) *textColumn {
	values := textfile.NewNames(held)
	return &textColumn{name: name, values: values, keys: set.wantKeys(name, values), at: vector[int32]{gap: -1, held: held}}
}

// set sets the string of an instance, which must be the same every time.
func (c *textColumn) set(n int, row tablefile.Row) error {
	at, err := c.at.slot(n)
	if err != nil {
		return err
	}
	if row.Missing(c.keys.at) {
		return &costs.DataError{Column: c.name, Msg: "is missing"}
	}
	number, err := c.keys.add(row)
	if err != nil {
		return err
	}
	v := int32(number)
	if *at >= 0 && *at != v {
		return &costs.DataError{Column: c.name, Msg: fmt.Sprintf("is %s, but earlier in the same instance %s",
			textfile.Quoted(c.values.List()[v]), textfile.Quoted(c.values.List()[*at]))}
	}
	*at = v
	return nil
}

// has reports whether the string of an instance is known.
func (c *textColumn) has(n int) bool { return c.at.get(n) >= 0 }

func (c *textColumn) pick(rows []int) []string {
	out := make([]string, len(rows))
	for i, n := range rows {
		out[i] = c.values.List()[c.at.get(n)]
	}
	return out
}

// places returns the values that have features, in their order, and for the
// number of every value the place of its feature, -1 if it has none.
func (c *textColumn) places(rows []int) (at []int32, levels []string) {
	levels = c.levels
	if levels == nil {
		for _, v := range c.sortedLevels(rows) {
			levels = append(levels, c.values.List()[v])
		}
	}
	place := make(map[string]int32, len(levels))
	for i, level := range levels {
		place[level] = int32(i)
	}
	at = make([]int32, c.values.Len())
	for v, value := range c.values.List() {
		at[v] = -1
		if i, ok := place[value]; ok {
			at[v] = i
		}
	}
	return at, levels
}

// sortedLevels returns the numbers of the values that occur in the rows, in the
// order of the values.
func (c *textColumn) sortedLevels(rows []int) []int32 {
	occurs := make([]bool, c.values.Len())
	for _, n := range rows {
		occurs[c.at.get(n)] = true
	}
	var levels []int32
	for v, ok := range occurs {
		if ok {
			levels = append(levels, int32(v))
		}
	}
	slices.SortFunc(levels, func(a, b int32) int { return strings.Compare(c.values.List()[a], c.values.List()[b]) })
	return levels
}

// columnSet collects the columns to read and their positions.
type columnSet struct {
	names []string
	at    map[string]int
	keys  []*keys
}

// wantKeys is want for a column of texts that are numbered among names.
func (s *columnSet) wantKeys(name string, names *textfile.Names) *keys {
	if name == "" {
		return nil
	}
	k := &keys{names: names, at: s.want(name)}
	s.keys = append(s.keys, k)
	return k
}

// open prepares the numbering of texts for a batch.
func (s *columnSet) open(b *tablefile.Batch) {
	for _, k := range s.keys {
		k.open(b)
	}
}

// want returns the position of a column, -1 for the empty name.
func (s *columnSet) want(name string) int {
	if name == "" {
		return -1
	}
	if i, ok := s.at[name]; ok {
		return i
	}
	if s.at == nil {
		s.at = make(map[string]int)
	}
	s.at[name] = len(s.names)
	s.names = append(s.names, name)
	return len(s.names) - 1
}
