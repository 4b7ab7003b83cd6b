package grade

import (
	"errors"
	"fmt"

	"pipe/internal/strictjson"
)

// mostReferences limits the references of one answer.
const mostReferences = 1000

// References returns the references in a cell of a table: the cell itself, or with list the elements of a JSON list of
// strings, of which there is at least one. An empty cell is an error.
func References(cell string, list bool) ([]string, error) {
	if cell == "" {
		return nil, errors.New("is empty")
	}
	if !list {
		return []string{cell}, nil
	}
	var texts []*string
	if err := strictjson.Unmarshal([]byte(cell), &texts); err != nil {
		return nil, errors.New(`is not a JSON list of strings, such as ["a", "b"]`)
	}
	if len(texts) == 0 || len(texts) > mostReferences {
		return nil, fmt.Errorf("has %d references, not 1 to %d", len(texts), mostReferences)
	}
	references := make([]string, len(texts))
	for i, t := range texts {
		if t == nil {
			return nil, fmt.Errorf("element %d of the list is null", i)
		}
		references[i] = *t
	}
	return references, nil
}
