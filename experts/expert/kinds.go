package expert

import "pipe/experts/builder/part"

// Kinds returns the kinds of experts that need no training, by name. A new one is a file with its settings and its constructor, and one line here.
func Kinds() map[string]part.NewExpert {
	return map[string]part.NewExpert{
		"clip":        newClip,
		"endpoint":    newEndpointExpert,
		"onnx_causal": newCausalExpert,
		"onnx_image":  newImageClassifier,
		"onnx_pair":   newPairClassifier,
		"onnx_table":  newTableClassifier,
		"precomputed": newPrecomputed,
	}
}
