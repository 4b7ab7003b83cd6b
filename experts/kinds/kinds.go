package kinds

import (
	"pipe/experts/advice"
	"pipe/experts/builder/part"
	"pipe/experts/expert"
	"pipe/experts/expert/trained"
	"pipe/experts/feature"
	"pipe/experts/source"
)

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
