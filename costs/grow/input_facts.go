package grow

import (
	"cmp"
	"slices"

	"pipe/costs"
)

// factsOf are the facts of all inputs, each once, sorted by name.
func factsOf(inputs ...*input) (all []costs.Fact) {
	for _, in := range inputs {
		for _, f := range in.columns.Facts {
			if place, found := findFact(all, f.Name); !found {
				all = slices.Insert(all, place, f)
			}
		}
	}
	return all
}

// findFact searches facts that are sorted by name.
func findFact(all []costs.Fact, name string) (place int, found bool) {
	return slices.BinarySearchFunc(all, name, func(f costs.Fact, name string) int { return cmp.Compare(f.Name, name) })
}

// shapeFacts gives rows that were read the facts of the input.
func (in *input) shapeFacts(t *costs.Tensor) {
	have := *t
	t.Facts = nil
	for _, f := range in.columns.Facts {
		if own := have.Fact(f.Name); own != nil {
			t.Facts = append(t.Facts, *own)
			continue
		}
		t.Facts = append(t.Facts, costs.Facts{Fact: f, Data: unknown[float32](len(t.Loss))})
	}
}
