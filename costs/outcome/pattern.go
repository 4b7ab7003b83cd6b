package outcome

import (
	"path"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/dataerror"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// matchColumns expands names, globs and ranges.
func (f *FeatureTable) matchColumns(tab *tablefile.Table) ([]string, error) {
	have := tab.Names()
	used := append([]string{f.ID, f.List, f.Image.Column, f.Label, f.Split, f.Group, f.Time, f.Reference, f.Question}, f.Length...)
	used = slices.Concat(used, f.Categorical, f.Text.names())
	at := make(map[string]int, len(have))
	for i, name := range slices.Backward(have) {
		at[name] = i // the first column of this name
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
				return nil, &costs.DataError{File: tab.Path(), Column: name, Msg: "is a duplicate feature"}
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
			return nil, &costs.DataError{Column: pattern, Msg: "is not a range of columns; the table has " + textfile.Listed(have, 12)}
		}
		found = slices.Clone(have[a : b+1])
	default:
		for _, name := range have {
			ok, err := path.Match(pattern, name)
			if err != nil {
				return nil, &costs.DataError{Column: pattern, Msg: "is not a valid pattern", Err: err}
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
		return nil, &costs.DataError{Column: pattern, Msg: "is missing; the table has " + textfile.ListedNear(have, pattern, 12)}
	}
	return found, nil
}
