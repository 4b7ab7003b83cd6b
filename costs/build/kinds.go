package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lookup returns the constructor of a kind; the error lists the known ones.
func lookup[T any](kinds map[string]T, kind string) (T, error) {
	c, ok := kinds[kind]
	if !ok {
		return c, fmt.Errorf("unknown kind %q; known are %s", kind, known(kinds))
	}
	return c, nil
}

// known lists the names of a table as errors do.
func known[T any](kinds map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
}
