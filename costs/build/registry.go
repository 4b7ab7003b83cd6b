package build

import (
	"context"
	"maps"

	"pipe/costs"
)

// Constructors of parts. settings are the keys of the part but its kind; Setup.Settings decodes them.
type (
	NewSource  = func(ctx context.Context, s *Setup, settings map[string]any) (Source, error)
	NewSplit   = func(ctx context.Context, s *Setup, settings map[string]any) ([]costs.Split, error) // one per entry of s.Source
	NewLoss    = func(ctx context.Context, s *Setup, settings map[string]any) (TaskLoss, error)
	NewAdvice  = func(ctx context.Context, s *Setup, settings map[string]any) (Advice, error)
	NewExpert  = func(ctx context.Context, s *Setup, settings map[string]any) (Expert, error)
	NewFeature = func(ctx context.Context, s *Setup, settings map[string]any) (Feature, error)
)

// Kinds are kinds of parts by the names that a configuration uses.
type Kinds struct {
	Sources  map[string]NewSource
	Splits   map[string]NewSplit
	Losses   map[string]NewLoss
	Advice   map[string]NewAdvice
	Experts  map[string]NewExpert
	Features map[string]NewFeature
}

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
func BuiltinKinds() *Kinds { return builtin.with(&Kinds{}) }

// with returns these kinds and others, which take the place of those of the same names.
func (k *Kinds) with(others *Kinds) *Kinds {
	return &Kinds{
		Sources:  joined(k.Sources, others.Sources),
		Splits:   joined(k.Splits, others.Splits),
		Losses:   joined(k.Losses, others.Losses),
		Advice:   joined(k.Advice, others.Advice),
		Experts:  joined(k.Experts, others.Experts),
		Features: joined(k.Features, others.Features),
	}
}

func joined[T any](a, b map[string]T) map[string]T {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
