package classlist

import (
	"context"
	"fmt"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// List is the classes of a data set in the order of a classifier's outputs.
type List struct {
	IDs   []string // distinct; the names where the file has no ids
	Names []string // aligned with IDs; two classes may share a name if they have ids
	rows  []int    // rows of the file, aligned with IDs
}

// Open reads a file of classes whose ids are all different, and makes it an input of the build:
//
//	{"0": ["n01440764", "tench"], ...}  ids and names by index, complete
//	["tench", "goldfish", ...]          a JSON list of names, which are the ids
//	tench                               plain text with a name per line
//
// role is what the part uses the file for. Errors about the data are *costs.DataError with the row.
func Open(ctx context.Context, s *part.Setup, role string, file part.Path) (*List, error) {
	path, err := input(ctx, s, role, file)
	if err != nil {
		return nil, err
	}
	return read(ctx, path)
}

// OpenNames reads the names in a file that Open knows, in order. Two classes may share a name, as a few of
// ImageNet's do.
func OpenNames(ctx context.Context, s *part.Setup, role string, file part.Path) ([]string, error) {
	path, err := input(ctx, s, role, file)
	if err != nil {
		return nil, err
	}
	return readNames(ctx, path)
}

// input makes the file an input of the build, and returns its path.
func input(ctx context.Context, s *part.Setup, role string, file part.Path) (storage.Location, error) {
	path := s.Path(file)
	return path, s.File(ctx, role, path)
}

// read reads a file of classes; duplicate ids are an error.
func read(ctx context.Context, path storage.Location) (*List, error) {
	list, err := parseFile(ctx, path)
	if err != nil {
		return nil, err
	}
	first := make(map[string]int, len(list.IDs))
	for i, id := range list.IDs {
		if at, ok := first[id]; ok {
			return nil, &costs.DataError{File: path.String(), Row: list.rows[i], Msg: fmt.Sprintf("class %d is %q, a duplicate of class %d (row %d)", i, id, at, list.rows[at])}
		}
		first[id] = i
	}
	return list, nil
}

// readNames reads only the names, which may contain duplicates.
func readNames(ctx context.Context, path storage.Location) ([]string, error) {
	list, err := parseFile(ctx, path)
	if err != nil {
		return nil, err
	}
	return list.Names, nil
}

// feverSpellings maps the spellings of the classes of FEVER, in files and in prompts, to ours.
var feverSpellings = map[string]string{
	"SUPPORTS": "SUPPORTS", "REFUTES": "REFUTES", "NOT ENOUGH INFO": "NOT ENOUGH INFO", "NOT_ENOUGH_INFO": "NOT ENOUGH INFO",
}

// FeverLabel returns the class of FEVER for one of its spellings: SUPPORTS, REFUTES or NOT ENOUGH INFO. ok is false for
// other strings.
func FeverLabel(spelling string) (label string, ok bool) {
	label, ok = feverSpellings[spelling]
	return label, ok
}
