package build

import (
	"context"

	"pipe/costs"
)

// The kinds of every part. A new one is a file with its settings and its
// constructor, and one line here. Constructors are called in this order:
// source, task loss, advice, experts, features.
var (
	sourceKinds = map[string]func(context.Context, *Setup, map[string]any) (Source, error){
		"fever":   newFever,
		"images":  newImages,
		"table":   newTable,
		"tabular": newTabular,
	}
	splitKinds = map[string]func(context.Context, *Setup, map[string]any) ([]costs.Split, error){
		"column":              splitByColumn,
		costs.SplitHash:       drawSplits(costs.SplitHash),
		costs.SplitRandom:     drawSplits(costs.SplitRandom),
		costs.SplitStratified: drawSplits(costs.SplitStratified),
	}
	lossKinds = map[string]func(*Setup, map[string]any) (TaskLoss, error){
		"money":    newMoney,
		"weighted": newWeighted,
		"zero_one": newZeroOne,
	}
	adviceKinds = map[string]func(context.Context, *Setup, map[string]any) (Advice, error){
		"none":     newNone,
		"passages": newPassages,
		"prompts":  newPrompts,
		"views":    newViews,
		"columns":  newColumns,
		"groups":   newGroups,
	}
	expertKinds = map[string]func(context.Context, *Setup, map[string]any) (Expert, error){
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
	}
	featureKinds = map[string]func(context.Context, *Setup, map[string]any) (Feature, error){
		"pooled":  newPooled,
		"expert":  newExpertProbabilities,
		"columns": newColumnFeatures,
		"file":    newFileFeatures,
		"groups":  newGroupFeatures,
		"image":   newImageFeatures,
		"text":    newTextFeatures,
	}
)
