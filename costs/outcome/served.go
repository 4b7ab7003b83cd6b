package outcome

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pipe/costs"
)

// The names of features that an import computes.
func lengthName(column string) string       { return costs.LengthOf + column }
func levelName(column, value string) string { return column + "=" + value }
func vectorName(columns string, at int) string {
	return fmt.Sprintf("%s%s[%d]", vectorOf, columns, at)
}

const vectorOf = "vector of "

// Unserved says which features of a tensor no command computes from raw rows,
// and what to do. It is "" if the features are columns of numbers, the vectors of
// one encoder, or groups of one encoded table, as far as the tensor records it.
func Unserved(t *costs.Tensor) string {
	var names []string
	if err := json.Unmarshal([]byte(t.Meta[costs.NamesKey]), &names); err != nil {
		return severalParts(t.Actions.Features.Name)
	}
	return unserved(names)
}

func unserved(names []string) string {
	parts := computed(names)
	other := func(name string) bool { return !strings.HasPrefix(name, vectorOf) }
	if len(parts) == 0 || len(parts) == 1 && !slices.ContainsFunc(names, other) {
		return ""
	}
	return fmt.Sprintf("decide, serve and merge do not compute %s from raw rows: send every feature as a number, in their order or in CSV by their names (1 or 0 for a category), or import the vectors of one encoder as the only features",
		strings.Join(parts, ", "))
}

// computed are the parts of the features that are not columns of numbers, each
// once.
func computed(names []string) (parts []string) {
	for _, name := range names {
		column, _, isLevel := strings.Cut(name, "=")
		switch {
		case strings.HasPrefix(name, costs.LengthOf):
		case strings.HasPrefix(name, vectorOf):
			name, _, _ = strings.Cut(name, "[")
		case isLevel:
			name = "categories of " + column
		default:
			continue
		}
		if !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	return parts
}

// severalParts is Unserved for features that pipe costs has named.
func severalParts(name string) string {
	parts := strings.Split(name, " + ")
	encoded := func(part string) bool {
		return strings.HasPrefix(part, "text ") || strings.HasPrefix(part, "image ") || strings.HasPrefix(part, "groups ")
	}
	if len(parts) == 1 || !slices.ContainsFunc(parts, encoded) {
		return ""
	}
	return fmt.Sprintf("decide, serve and merge do not compute the features %s from raw rows, because they have %d parts: send them as numbers in their order, or build the tensor with one part",
		name, len(parts))
}
