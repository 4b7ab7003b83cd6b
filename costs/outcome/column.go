package outcome

import (
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// Bytes of a string in a slice of strings, and of a number or the index of a string.
const (
	bytesOfText  = 16
	bytesOfValue = 4
)

// textColumn is one string per instance, -1 while it is not known.
type textColumn struct {
	name   string
	values *textfile.Names
	at     []int32
	held   *textfile.Held
}

func newTextColumn(name string, held *textfile.Held) *textColumn {
	return &textColumn{name: name, values: textfile.NewNames(held), held: held}
}

// set sets the string of an instance, which must be the same every time.
func (c *textColumn) set(n int, text tablefile.Cell) error {
	var err error
	if c.at, err = grown(c.at, n, -1, c.held); err != nil {
		return err
	}
	if text.Missing() {
		return &costs.DataError{Column: c.name, Msg: "is missing"}
	}
	number, err := c.values.Add(text.String())
	if err != nil {
		return err
	}
	v := int32(number)
	if c.at[n] >= 0 && c.at[n] != v {
		return &costs.DataError{Column: c.name, Msg: fmt.Sprintf("is %s, but earlier in the same instance %s",
			textfile.Quoted(c.values.List()[v]), textfile.Quoted(c.values.List()[c.at[n]]))}
	}
	c.at[n] = v
	return nil
}

// has reports whether the string of an instance is known.
func (c *textColumn) has(n int) bool { return n < len(c.at) && c.at[n] >= 0 }

func (c *textColumn) pick(rows []int) []string {
	out := make([]string, len(rows))
	for i, n := range rows {
		out[i] = c.values.List()[c.at[n]]
	}
	return out
}

// sortedLevels returns the numbers of the values that occur in the rows, in the
// order of the values.
func (c *textColumn) sortedLevels(rows []int) []int32 {
	occurs := make([]bool, c.values.Len())
	for _, n := range rows {
		occurs[c.at[n]] = true
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

// grown returns s with an element n, the new ones being gap.
func grown[T int32 | float32](s []T, n int, gap T, held *textfile.Held) ([]T, error) {
	if len(s) > n {
		return s, nil
	}
	if err := held.AddCells(n+1-len(s), 1, bytesOfValue); err != nil {
		return nil, err
	}
	for len(s) <= n {
		s = append(s, gap)
	}
	return s, nil
}

// columnSet collects the columns to read and their positions.
type columnSet struct {
	names []string
	at    map[string]int
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
