package textfile

import (
	"slices"
	"strings"
)

// ListedNear is Listed with the names first that are probably meant by a name that is not among them.
func ListedNear(names []string, name string, limit int) string {
	const compared = 10_000 // names of a wide table
	near := nearTo(name)
	var first, others []string
	for i, other := range names {
		if i < compared && near(other) {
			first = append(first, other)
		} else {
			others = append(others, other)
		}
	}
	return Listed(slices.Concat(first, others), limit)
}

// nearTo reports whether a name has the same letters as another, contains it or is contained in it, or differs by few
// characters.
func nearTo(name string) func(other string) bool {
	const shortest, longest = 3, 100 // lengths of names that are compared
	name = strings.ToLower(name)
	return func(other string) bool {
		other = strings.ToLower(other)
		switch {
		case name == other:
			return true
		case len(name) < shortest || len(other) < shortest || len(name) > longest || len(other) > longest:
			return false
		case strings.Contains(name, other), strings.Contains(other, name):
			return true
		}
		return edits(name, other) <= len(name)/4
	}
}

// edits is the Levenshtein distance of two strings in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
