package builder

import (
	"reflect"
	"testing"

	"pipe/experts/builder/part"
)

// weighty is a source whose instances have weights, of which rows that are loaded together have two at most.
type weighty struct {
	part.Source
	weights []int
}

func (s weighty) Fit(rows []int) int {
	sum := 0
	for n, row := range rows {
		if sum += s.weights[row]; n > 0 && sum > 2 {
			return n
		}
	}
	return len(rows)
}

// TestBatchesAreCutToWhatFits cuts batches by their length, and by what their instances take.
func TestBatchesAreCutToWhatFits(t *testing.T) {
	p := &plan{cfg: &part.Config{Batch: 3}, Build: &part.Build{Source: weighty{weights: []int{1, 1, 1, 3, 0, 0}}}}
	if got, want := p.cut([]int{0, 1, 2, 3, 4, 5}), []piece{{0, []int{0, 1}}, {2, []int{2}}, {3, []int{3}}, {4, []int{4, 5}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
	p.Source = weighty{weights: make([]int, 6)}
	if got, want := p.cut([]int{0, 1, 2, 3, 4, 5}), []piece{{0, []int{0, 1, 2}}, {3, []int{3, 4, 5}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("batches %v, want %v", got, want)
	}
}
