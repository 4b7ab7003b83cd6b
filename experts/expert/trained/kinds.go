package trained

import "pipe/experts/builder/part"

// Kinds returns the constructors of trained experts, by kind in a configuration. They learn from the build's training rows
// or from a file. A new kind is a file with its settings and its constructor, and one line here.
func Kinds() map[string]part.NewExpert {
	return map[string]part.NewExpert{
		"boosted_trees": newBoostedTrees,
		"embedding":     newEmbedding,
		"logistic":      newLogistic,
		"mlp":           newMLP,
	}
}
