package auto

import (
	"testing"

	"pipe/costs"
)

// TestOrderSpreadsEqualRows: rows that say the same do not follow each other, so that the first rows of one feature vector
// are a fair sample of all of them.
func TestOrderSpreadsEqualRows(t *testing.T) {
	train := flat.tensor(2000, costs.Train, 1, true)
	for n := range train.Len() {
		clear(train.Row(n))
		for pair := range train.Losses(n) {
			train.Losses(n)[pair] = float32(n % 2)
		}
	}
	mean := 0.0
	for _, n := range orderOf(train, train.Rows(costs.Train)).rows[:200] {
		mean += float64(train.Losses(n)[0]) / 200
	}
	if mean < 0.35 || mean > 0.65 {
		t.Errorf("the first 200 rows have a mean loss of %.3f, all 0.5", mean)
	}
}
