package costs

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// featureBlock holds the features that one table gives, by instance.
type featureBlock struct {
	numbers     []string      // names of the columns of values
	values      []float32     // instances x len(numbers)
	categorical []*textColumn // one-hot at the end
	there       []bool        // whether an instance has a complete row
}

func (m *importer) hasFeatures(n int) bool {
	for _, b := range m.features {
		if !b.there[n] {
			return false
		}
	}
	return true
}

func (m *importer) readFeatures() error {
	for i := range m.config.Features {
		f := &m.config.Features[i]
		tab, err := tablefile.Open(m.featureFile(*f))
		if err != nil {
			return err
		}
		block, err := m.readFeatureTable(tab, f)
		tab.Close()
		if err != nil {
			return err
		}
		m.features = append(m.features, block)
	}
	return nil
}

// featureRow says where the parts of a row of features are.
type featureRow struct {
	id, list          int
	columns, lengths  []int
	categories        []int
	names             []string // of all chosen columns
	width, listLength int      // listLength is -1 until the first row
}

func (m *importer) readFeatureTable(tab tablefile.Table, f *FeatureTable) (*featureBlock, error) {
	columns, err := f.matchColumns(tab)
	if err != nil {
		return nil, err
	}
	var set columnSet
	row := featureRow{id: set.want(f.ID), list: set.want(f.List), listLength: -1}
	if err := m.held.AddCells(m.outcomes.ids.Len(), 2, 1); err != nil {
		return nil, asData(tab.Path(), err)
	}
	b := &featureBlock{there: make([]bool, m.outcomes.ids.Len())}
	for _, name := range columns {
		row.columns = append(row.columns, set.want(name))
		b.numbers = append(b.numbers, name)
	}
	for _, name := range f.Length {
		row.lengths = append(row.lengths, set.want(name))
		b.numbers = append(b.numbers, "length of "+name)
	}
	for _, name := range f.Categorical {
		row.categories = append(row.categories, set.want(name))
		b.categorical = append(b.categorical, newTextColumn(name, m.held))
	}
	texts := m.instanceTexts(&set, f.Label, f.Split, f.Group)
	row.names = set.names
	seen := make([]bool, len(b.there))
	err = m.walk(tab, set.names, func(line int, cells []tablefile.Cell) error {
		if cells[row.id].Missing() {
			return &DataError{Row: line, Column: f.ID, Msg: "is missing"}
		}
		n := m.outcomes.ids.Find(cells[row.id].String())
		if n < 0 {
			m.report.UnusedRows++
			return nil
		}
		if seen[n] {
			return &DataError{Row: line, Column: f.ID, Msg: textfile.Quoted(cells[row.id].String()) + " is there already"}
		}
		seen[n] = true
		if row.listLength < 0 {
			if row.list >= 0 && cells[row.list].Missing() {
				return nil // incomplete, and it does not tell the length
			}
			if err := row.fixWidth(b, f, cells, m.held); err != nil {
				return shiftedTo(err, line)
			}
		}
		if err := texts(n, cells); err != nil {
			return shiftedTo(err, line)
		}
		return shiftedTo(row.read(b, n, cells), line)
	})
	return b, err
}

// bytesOfName is about what the name of a value in a list takes.
const bytesOfName = 64

// fixWidth learns the length of the list column from the first row.
func (r *featureRow) fixWidth(b *featureBlock, f *FeatureTable, cells []tablefile.Cell, held *textfile.Held) error {
	r.listLength = 0
	if r.list >= 0 {
		list, err := cells[r.list].Floats()
		if err != nil {
			return &DataError{Column: f.List, Err: err}
		}
		r.listLength = len(list)
		if err := held.AddCells(len(list), 1, bytesOfName); err != nil {
			return err
		}
		for i := range list {
			b.numbers = append(b.numbers, fmt.Sprintf("%s[%d]", f.List, i))
		}
	}
	r.width = len(b.numbers)
	if err := held.AddCells(len(b.there), r.width, bytesOfValue); err != nil {
		return err
	}
	b.values = make([]float32, len(b.there)*r.width)
	return nil
}

// read takes one row. An instance with an empty field stays incomplete; a field
// that is no number is an error.
func (r *featureRow) read(b *featureBlock, n int, cells []tablefile.Cell) error {
	dst := b.values[n*r.width : (n+1)*r.width]
	complete := true
	for _, at := range r.columns {
		if cells[at].Missing() {
			complete, dst = false, dst[1:]
			continue
		}
		v, err := cells[at].FlagOrFloat()
		if err != nil {
			return &DataError{Column: r.names[at], Err: err}
		}
		dst[0], dst = float32(v), dst[1:]
	}
	for _, at := range r.lengths {
		v, err := cells[at].Length()
		if err != nil {
			return &DataError{Column: r.names[at], Err: err}
		}
		dst[0], dst = float32(v), dst[1:]
	}
	if r.list >= 0 && cells[r.list].Missing() {
		complete = false
	} else if r.list >= 0 {
		list, err := cells[r.list].Floats()
		if err == nil && len(list) != r.listLength {
			err = fmt.Errorf("list has %d values, expected %d", len(list), r.listLength)
		}
		if err != nil {
			return &DataError{Column: r.names[r.list], Err: err}
		}
		copy(dst, list)
	}
	for i, at := range r.categories {
		if cells[at].Missing() {
			complete = false
		} else if err := b.categorical[i].set(n, cells[at]); err != nil {
			return err
		}
	}
	b.there[n] = complete
	return nil
}

// matchColumns expands names, globs and ranges.
func (f *FeatureTable) matchColumns(tab tablefile.Table) ([]string, error) {
	have := tab.Names()
	used := append([]string{f.ID, f.List, f.Label, f.Split, f.Group}, f.Length...)
	used = append(used, f.Categorical...)
	at := make(map[string]int, len(have))
	for i, name := range slices.Backward(have) {
		at[name] = i // the first of its name
	}
	var columns []string
	taken := make(map[string]bool)
	for _, pattern := range f.Columns {
		found, err := matchPattern(have, at, pattern, used)
		if err != nil {
			return nil, dataerror.InFile(tab.Path(), err)
		}
		for _, name := range found {
			if taken[name] {
				return nil, &DataError{File: tab.Path(), Column: name, Msg: "is taken as a feature twice"}
			}
			taken[name] = true
			columns = append(columns, name)
		}
	}
	return columns, nil
}

// matchPattern returns the columns that a name, a range or a glob stands for; at has the positions of the names in have.
func matchPattern(have []string, at map[string]int, pattern string, used []string) ([]string, error) {
	if _, ok := at[pattern]; ok {
		return []string{pattern}, nil
	}
	var found []string
	from, to, isRange := strings.Cut(pattern, "..")
	switch {
	case isRange:
		a, hasFrom := at[from]
		b, hasTo := at[to]
		if !hasFrom || !hasTo || b < a {
			return nil, &DataError{Column: pattern, Msg: "is no range of columns; the table has " + textfile.Listed(have, 12)}
		}
		found = slices.Clone(have[a : b+1])
	default:
		for _, name := range have {
			ok, err := path.Match(pattern, name)
			if err != nil {
				return nil, &DataError{Column: pattern, Msg: "is no pattern", Err: err}
			}
			if ok {
				found = append(found, name)
			}
		}
	}
	other := make(map[string]bool, len(used))
	for _, name := range used {
		other[name] = true
	}
	found = slices.DeleteFunc(found, func(name string) bool { return other[name] })
	if len(found) == 0 {
		return nil, &DataError{Column: pattern, Msg: "is missing; the table has " + textfile.Listed(have, 12)}
	}
	return found, nil
}

// joinFeatures puts the blocks side by side for the kept instances. A category
// becomes a column only if a kept instance has it.
func joinFeatures(blocks []*featureBlock, keep []int, held *textfile.Held) (features []float32, dim int, names []string, err error) {
	columns := make([][][]int32, len(blocks)) // by block, category and number of the value: its column
	widths := make([][]int, len(blocks))
	for i, b := range blocks {
		names = append(names, b.numbers...)
		for _, c := range b.categorical {
			sorted := c.sortedLevels(keep)
			at := make([]int32, c.values.Len())
			for column, v := range sorted {
				at[v] = int32(column)
				names = append(names, c.name+"="+c.values.List()[v])
			}
			columns[i], widths[i] = append(columns[i], at), append(widths[i], len(sorted))
		}
	}
	dim = len(names)
	if len(blocks) == 1 && len(blocks[0].categorical) == 0 && len(keep) == len(blocks[0].there) {
		return blocks[0].values, dim, names, nil // all of it, in the same order
	}
	if err := held.AddCells(len(keep), dim, bytesOfValue); err != nil {
		return nil, 0, nil, err
	}
	features = make([]float32, len(keep)*dim)
	for row, n := range keep {
		dst := features[row*dim : (row+1)*dim]
		for i, b := range blocks {
			width := len(b.numbers)
			copy(dst, b.values[n*width:(n+1)*width])
			dst = dst[width:]
			for j, c := range b.categorical {
				dst[columns[i][j][c.at[n]]] = 1
				dst = dst[widths[i][j]:]
			}
		}
	}
	return features, dim, names, nil
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
