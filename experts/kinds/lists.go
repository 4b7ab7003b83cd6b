package kinds

import (
	"pipe/costs"
	"pipe/costs/grade"
	"pipe/experts/advice"
	"pipe/experts/builder/part"
	"pipe/experts/expert"
	"pipe/experts/expert/trained"
	"pipe/experts/feature"
	"pipe/experts/grading"
	"pipe/experts/source"
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
// Every kind of graders is one, too.
func losses() map[string]part.NewLoss {
	all := map[string]part.NewLoss{
		"money":    newMoney,
		"weighted": newWeighted,
		"zero_one": newZeroOne,
	}
	for _, kind := range grade.Kinds() {
		all[kind] = grading.NewLoss(kind)
	}
	return all
}

// Builtin returns the kinds of parts of this module, by name. A program adds its own by [part.Kinds.With].
func Builtin() *part.Kinds {
	all := &part.Kinds{
		Sources:  source.Kinds(),
		Splits:   splits(),
		Losses:   losses(),
		Advice:   advice.Kinds(),
		Experts:  expert.Kinds(),
		Features: feature.Kinds(),
	}
	return all.With(&part.Kinds{Experts: trained.Kinds()})
}
