package feature

import "pipe/experts/builder/part"

// Kinds returns the kinds of features by name. A new one is a file with its settings and its constructor, and one line here.
func Kinds() map[string]part.NewFeature {
	return map[string]part.NewFeature{
		"pooled":  newPooled,
		"expert":  newExpertProbabilities,
		"columns": newColumnFeatures,
		"file":    newFileFeatures,
		"groups":  newGroupFeatures,
		"image":   newImageFeatures,
		"text":    newTextFeatures,
	}
}
