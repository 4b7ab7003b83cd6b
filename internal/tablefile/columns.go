package tablefile

import (
	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// positions finds columns by name.
func positions(path string, have, want []string) ([]int, error) {
	at := make(map[string]int, len(have))
	for i, name := range have {
		if _, ok := at[name]; ok {
			at[name] = -1
			continue
		}
		at[name] = i
	}
	found := make([]int, len(want))
	for i, name := range want {
		p, ok := at[name]
		switch {
		case !ok:
			return nil, &dataerror.Error{File: path, Column: name, Msg: "is missing; the table has " + textfile.ListedNear(have, name, 12)}
		case p < 0:
			return nil, &dataerror.Error{File: path, Column: name, Msg: "is a duplicate"}
		}
		found[i] = p
	}
	return found, nil
}
