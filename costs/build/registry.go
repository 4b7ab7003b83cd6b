package build

import (
	"pipe/costs"
	"pipe/costs/builder/part"
)

// builtin are the kinds of this module. Those of sources, advice, experts and features are listed beside their code.
var builtin = (&part.Kinds{
	Sources: sourceKinds(),
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
	Advice:   adviceKinds(),
	Experts:  expertKinds(),
	Features: featureKinds(),
}).With(&part.Kinds{Experts: trainedKinds()})
