package build

import (
	"pipe/costs"
	"pipe/costs/builder/part"
)

// builtin are the kinds of this module. A new one is a file with its settings and its constructor, and one line here.
var builtin = part.Kinds{
	Sources: map[string]part.NewSource{
		"fever":   newFever,
		"images":  newImages,
		"table":   newTable,
		"tabular": newTabular,
	},
	Splits: map[string]part.NewSplit{
		"column":              splitByColumn,
		costs.SplitHash:       drawSplits(costs.SplitHash),
		costs.SplitRandom:     drawSplits(costs.SplitRandom),
		costs.SplitStratified: drawSplits(costs.SplitStratified),
	},
	Losses: map[string]part.NewLoss{
		"money":    newMoney,
		"weighted": newWeighted,
		"zero_one": newZeroOne,
	},
	Advice: map[string]part.NewAdvice{
		"none":     newNone,
		"passages": newPassages,
		"prompts":  newPrompts,
		"views":    newViews,
		"columns":  newColumns,
		"groups":   newGroups,
	},
	Experts: map[string]part.NewExpert{
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
	Features: map[string]part.NewFeature{
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
	_ part.Preparer = (*clip)(nil)
	_ part.Preparer = (*embedder)(nil)
	_ part.Preparer = (*trained)(nil)
)

// BuiltinKinds returns the kinds of this module. The maps are the caller's.
func BuiltinKinds() *part.Kinds { return builtin.With(&part.Kinds{}) }
