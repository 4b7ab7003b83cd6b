package costs_test

import (
	"math"
	"testing"

	"pipe/costs"
)

// The digest of outcomes changes with everything that happened on the rows, and with nothing else.
func TestOutcomesDigest(t *testing.T) {
	build := func(change func(t *costs.Tensor)) *costs.Tensor {
		x := &costs.Tensor{
			Actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}}},
			IDs:     []string{"1", "2"}, Splits: []costs.Split{costs.Val, costs.Val}, Dim: 1,
			Features: []float32{1, 2}, Loss: []float32{0, 1, 1, float32(math.NaN())}, Fee: []float32{1, 2, 3, 4},
		}
		change(x)
		return x
	}
	rows := []int{0, 1}
	same := build(func(*costs.Tensor) {}).OutcomesDigest(rows)
	for name, change := range map[string]func(t *costs.Tensor){
		"features": func(t *costs.Tensor) { t.Features[0] = 7 },
		"prices":   func(t *costs.Tensor) { t.Actions.Experts[0].Fee = 1 },
		"splits":   func(t *costs.Tensor) { t.Splits[0] = costs.Test },
		"NaN":      func(t *costs.Tensor) { t.Loss[3] = math.Float32frombits(0xffc00001) },
	} {
		if build(change).OutcomesDigest(rows) != same {
			t.Errorf("%s: another digest", name)
		}
	}
	for name, change := range map[string]func(t *costs.Tensor){
		"loss":   func(t *costs.Tensor) { t.Loss[2] = 0.5 },
		"fee":    func(t *costs.Tensor) { t.Fee[0] = 0 },
		"no fee": func(t *costs.Tensor) { t.Fee = nil },
		"id":     func(t *costs.Tensor) { t.IDs[1] = "3" },
		"ids":    func(t *costs.Tensor) { t.IDs[0], t.IDs[1] = "11", "" },
		"expert": func(t *costs.Tensor) { t.Actions.Experts[0].Name = "c" },
	} {
		if build(change).OutcomesDigest(rows) == same {
			t.Errorf("%s: the same digest", name)
		}
	}
	if x := build(func(*costs.Tensor) {}); x.OutcomesDigest([]int{1, 0}) == same || x.OutcomesDigest(rows[:1]) == same {
		t.Error("other rows: the same digest")
	}
}
