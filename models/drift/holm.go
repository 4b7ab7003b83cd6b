package drift

import (
	"cmp"
	"slices"
)

// Holm adjusts p-values for their number (Holm 1979): rejecting where the adjusted value is at most alpha rejects any true
// hypothesis with a probability of at most alpha, whatever the dependence between them.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out, most := make([]float64, len(p)), 0.0
	for rank, i := range order {
		most = max(most, min(1, p[i]*float64(len(p)-rank)))
		out[i] = most
	}
	return out
}
