package decision

import (
	"math"
	"testing"

	"pipe/models/policy"
	"pipe/serve/policies"
)

// savings is what the metric of the expected saving has: how many decisions, and their sum.
func (w *world) savings(t *testing.T) (n uint64, sum float64) {
	t.Helper()
	all, err := w.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == "pipe_expected_saving" {
			s := f.GetMetric()[0].GetSummary()
			return s.GetSampleCount(), s.GetSampleSum()
		}
	}
	return 0, 0
}

// Savings are against one fixed pair. Decisions for which it was not available are no savings.
func TestSavingsAreAgainstOnePair(t *testing.T) {
	w := newWorld(t, DefaultSettings())
	const rows = 150
	in := policies.Inputs{Features: numbers(1, rows)}
	plain := w.ask(t, Request{Policy: "any", Inputs: in})
	of := plain.used.version.fixed
	best := of.compare(nil)
	want := 0.0
	for _, r := range plain.Records {
		want += float64(r.ExpectedCost[best]) - float64(r.ExpectedCost[r.Action])
	}
	if n, sum := w.savings(t); n != rows || math.Abs(sum-want) > 1e-6 {
		t.Errorf("a saving of %v on %d decisions, want %v on %d", sum, n, want, rows)
	}
	j, _ := plain.used.version.info.Actions.Pair(best)
	without := policy.PriceChange{Without: []policy.Part{policy.Expert(plain.used.version.info.Actions.Experts[j].Name)}}
	for range 2 { // in half of all decisions, the best pair is still the one to compare with
		masked := w.ask(t, Request{Policy: "any", Inputs: policies.Inputs{Features: numbers(2, rows/2)}, Prices: without})
		if masked.Records[0].Available[best] {
			t.Fatal("the pair is available")
		}
	}
	if n, sum := w.savings(t); n != rows || math.Abs(sum-want) > 1e-6 {
		t.Errorf("with decisions without the pair: a saving of %v on %d decisions, want %v on %d", sum, n, want, rows)
	}
}

// At prices of its own a request has another best pair, and is compared with that of all.
func TestSavingsAtPricesOfRequests(t *testing.T) {
	w := newWorld(t, DefaultSettings())
	var want float64
	best := -1
	for i, lambda := range []float64{1, 0, 4} {
		res := w.ask(t, Request{Policy: "any", Inputs: policies.Inputs{Features: numbers(uint64(i), 200)}, Prices: policy.PriceChange{Lambda: &lambda}})
		best = res.used.version.fixed.compare(nil)
		for _, r := range res.Records {
			want += float64(r.ExpectedCost[best]) - float64(r.ExpectedCost[r.Action])
		}
	}
	if n, sum := w.savings(t); n != 600 || math.Abs(sum-want) > 1e-6 {
		t.Errorf("a saving of %v on %d decisions, want %v on 600", sum, n, want)
	}
}
