package safetext

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Fields describes a file or a result on a terminal: a title, then lines of a name and a value, all escaped.
type Fields struct{ strings.Builder }

// Titled starts with a line that contains the name and the kind of a file.
func Titled(path, kind string) *Fields {
	f := &Fields{}
	fmt.Fprintf(f, "%s: %s\n", Line(path), Line(kind))
	return f
}

// Add adds a line, unless the value is empty.
func (f *Fields) Add(name, format string, args ...any) {
	if value := fmt.Sprintf(format, args...); value != "" {
		fmt.Fprintf(f, "  %-16s %s\n", Line(name), Line(value))
	}
}

// widest is the most characters that AddPairs shows of a value.
const widest = 120

// AddPairs adds named values, sorted by name, under one heading. Long values are cut.
func (f *Fields) AddPairs(heading string, values map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := []rune(values[key])
		if len(value) > widest {
			value = append(value[:widest], []rune(fmt.Sprintf(" ... (%d characters)", len(values[key])))...)
		}
		f.Add(heading, "%s = %s", key, string(value))
		heading = ""
	}
}

// WriteText writes all lines.
func (f *Fields) WriteText(w io.Writer) error {
	_, err := io.WriteString(w, f.String())
	return err
}

// List joins the strings that show returns for the items.
func List[T any](items []T, show func(T) string) string {
	var names []string
	for _, item := range items {
		names = append(names, show(item))
	}
	return strings.Join(names, ", ")
}

// After is the text behind the prefix, or "" if the text is empty.
func After(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// Table aligns the cells of rows in columns, indented by two spaces.
func Table(rows [][]string) string {
	var b strings.Builder
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for c, cell := range row {
			cells[c] = Line(cell)
		}
		fmt.Fprintf(tab, "  %s\n", strings.Join(cells, "\t"))
	}
	tab.Flush() // a strings.Builder takes everything
	return b.String()
}

// Counted formats a count; it is empty for zero.
func Counted(format string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}
