package build

import (
	"pipe/costs"
)

// builtin are the kinds of this module. A new one is a file with its settings and its constructor, and one line here.
var builtin = Kinds{
	Sources: map[string]NewSource{
		"fever":   newFever,
		"images":  newImages,
		"table":   newTable,
		"tabular": newTabular,
	},
	Splits: map[string]NewSplit{
		"column":              splitByColumn,
		costs.SplitHash:       drawSplits(costs.SplitHash),
		costs.SplitRandom:     drawSplits(costs.SplitRandom),
		costs.SplitStratified: drawSplits(costs.SplitStratified),
	},
	Losses: map[string]NewLoss{
		"money":    newMoney,
		"weighted": newWeighted,
		"zero_one": newZeroOne,
	},
	Advice: map[string]NewAdvice{
		"none":     newNone,
		"passages": newPassages,
		"prompts":  newPrompts,
		"views":    newViews,
		"columns":  newColumns,
		"groups":   newGroups,
	},
	Experts: map[string]NewExpert{
		"boosted_trees": newBoostedTrees,
		"clip":          newClip,
		"endpoint":      newEndpointExpert,
		"embedding":     newEmbedding,
		"logistic":      newLogistic,
		"mlp":           newMLP,
		"onnx_causal":   newCausalExpert,
		"onnx_image":    newImageClassifier,
		"onnx_pair":     newPairClassifier,
		"onnx_table":    newTableClassifier,
		"precomputed":   newPrecomputed,
	},
	Features: map[string]NewFeature{
		"pooled":  newPooled,
		"expert":  newExpertProbabilities,
		"columns": newColumnFeatures,
		"file":    newFileFeatures,
		"groups":  newGroupFeatures,
		"image":   newImageFeatures,
		"text":    newTextFeatures,
	},
}

var (
	_ Preparer = (*clip)(nil)
	_ Preparer = (*embedder)(nil)
	_ Preparer = (*trained)(nil)
)

// BuiltinKinds returns the kinds of this module. The maps are the caller's.
func BuiltinKinds() *Kinds { return builtin.With(&Kinds{}) }
