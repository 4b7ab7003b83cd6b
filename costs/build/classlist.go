package build

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/costs/builder/part"
)

// classList is the classes of a data set in the order of a classifier's outputs.
type classList struct {
	IDs   []string // distinct; the names where the file has no ids of their own
	Names []string // aligned with IDs; two classes may share a name if they have ids
	rows  []int    // of the file, aligned with IDs
}

// readClasses reads a file of classes whose ids are all different:
//
//	{"0": ["n01440764", "tench"], ...}  ids and names by index, complete
//	["tench", "goldfish", ...]          a JSON list of names, which are the ids
//	tench                               a text with a name per line
//
// Errors are *costs.DataError with the row.
func readClasses(path string) (*classList, error) {
	list, err := parseClassFile(path)
	if err != nil {
		return nil, err
	}
	first := make(map[string]int, len(list.IDs))
	for i, id := range list.IDs {
		if at, ok := first[id]; ok {
			return nil, &costs.DataError{File: path, Row: list.rows[i], Msg: fmt.Sprintf("class %d is %q, as class %d (row %d) is", i, id, at, list.rows[at])}
		}
		first[id] = i
	}
	return list, nil
}

// readClassNames reads the names in a file that readClasses knows. Two classes
// may share a name, as a few of ImageNet's do.
func readClassNames(path string) ([]string, error) {
	list, err := parseClassFile(path)
	if err != nil {
		return nil, err
	}
	return list.Names, nil
}

// openClasses is readClasses for a file that is an input of the build.
func openClasses(ctx context.Context, s *part.Setup, role string, file part.Path) (*classList, error) {
	path := s.Path(file)
	if err := s.File(ctx, role, path); err != nil {
		return nil, err
	}
	return readClasses(path)
}
