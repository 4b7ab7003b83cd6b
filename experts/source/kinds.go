package source

import "pipe/experts/builder/part"

// Kinds returns the kinds of sources by name. A new one is a file with its settings and its constructor, and one line here.
func Kinds() map[string]part.NewSource {
	return map[string]part.NewSource{
		"fever":   newFever,
		"images":  newImages,
		"table":   newTable,
		"tabular": newTabular,
	}
}
