package decide

import (
	"fmt"
	"slices"

	"pipe/costs"
	"pipe/internal/textfile"
)

// featurePlaces returns for every column of a header the index of its feature; id is the column of the ids, -1 if there
// is none. If the policy has feature names, columns are matched by name, in any order; a column with another name is a
// *costs.DataError. If the policy has no names, or duplicate ones, columns are taken in their order.
func featurePlaces(file string, header []string, id int, names []string) ([]int, error) {
	places := make([]int, len(header))
	at := map[string]int{}
	for i, name := range names {
		at[name] = i
	}
	named, next := len(at) > 0 && len(at) == len(names), 0
	for c, name := range header {
		if c == id {
			continue
		}
		places[c], next = next, next+1
		if !named {
			continue
		}
		i, ok := at[name]
		if !ok {
			return nil, badFeatures(&costs.DataError{File: file, Row: 1, Column: name, Msg: fmt.Sprintf(
				"is not a feature of the policy; its features that the file lacks: %s", textfile.Listed(lacking(header, names), 12))})
		}
		places[c] = i
	}
	return places, nil
}

// lacking are the names that are missing from a header.
func lacking(header, names []string) []string {
	has := make(map[string]bool, len(header))
	for _, name := range header {
		has[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return has[name] })
}
