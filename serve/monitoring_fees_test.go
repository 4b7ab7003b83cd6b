package serve

import (
	"testing"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// Only decisions at the prices of the baseline, among all pairs, are compared with those of the baseline.
func TestPricesOfTheBaseline(t *testing.T) {
	info := &policy.Info{Lambda: 0.5, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "small"}, {Name: "large", Fee: 0.25}}, Advice: []costs.Advice{{Name: "none"}, {Name: "search", Fee: 0.125}},
	}}
	for name, c := range map[string]struct {
		change func(r *decisionlog.Record)
		same   bool
	}{
		"those of the file": {func(*decisionlog.Record) {}, true},
		"lambda":            {func(r *decisionlog.Record) { r.Lambda = 1 }, false},
		"an expert's fee":   {func(r *decisionlog.Record) { r.ExpertFees[1] = 0.5 }, false},
		"an advice's fee":   {func(r *decisionlog.Record) { r.AdviceFees[1] = 0.5 }, false},
		"a pair's fee":      {func(r *decisionlog.Record) { r.PairFees = []float64{0, 0, 0, 0.5} }, false},
		"prices of usage":   {func(r *decisionlog.Record) { r.UsagePrices = []float64{1, 2} }, false},
		"a pair left out":   {func(r *decisionlog.Record) { r.Available[2] = false }, false},
	} {
		r := &decisionlog.Record{Lambda: 0.5, ExpertFees: []float64{0, 0.25}, AdviceFees: []float64{0, 0.125}, Available: []bool{true, true, true, true}}
		c.change(r)
		if got := atPrices(r, info.Lambda, info, nil); got != c.same {
			t.Errorf("%s: %t", name, got)
		}
	}
}
