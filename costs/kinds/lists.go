package kinds

import (
	"pipe/costs"
	"pipe/costs/builder/part"
)

// splits returns the ways to split the instances, by name. A new one is a function and one line here.
func splits() map[string]part.NewSplit {
	return map[string]part.NewSplit{
		"column":              splitByColumn,
		costs.SplitHash:       drawSplits(costs.SplitHash),
		costs.SplitRandom:     drawSplits(costs.SplitRandom),
		costs.SplitStratified: drawSplits(costs.SplitStratified),
	}
}

// losses returns the task losses by name. A new one is a file with its settings and its constructor, and one line here.
func losses() map[string]part.NewLoss {
	return map[string]part.NewLoss{
		"money":    newMoney,
		"weighted": newWeighted,
		"zero_one": newZeroOne,
	}
}
