package trained

import "pipe/costs/builder/part"

// Kinds returns the constructors of experts that learn from the build's training rows, or from a file, by the names that a
// configuration uses. A new one is a file with its settings and its constructor, and one line here.
func Kinds() map[string]part.NewExpert {
	return map[string]part.NewExpert{
		"boosted_trees": newBoostedTrees,
		"embedding":     newEmbedding,
		"logistic":      newLogistic,
		"mlp":           newMLP,
	}
}
