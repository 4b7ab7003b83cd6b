package gateway

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/models/cascade/fit"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/serve/decision"
)

// lookedAt is a table on which it pays to look at answers: small is right on 60% of the rows, large on 95%, and an answer names no label
// on nine wrong ones of ten, and on few right ones. The features say nothing.
func lookedAt(rows int, seed uint64) *costs.Tensor {
	r := rand.New(rand.NewPCG(seed, 5))
	t := &costs.Tensor{Dim: hftest.Hidden, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "small", Fee: 0.02}, {Name: "large", Fee: 0.2}}, Advice: []costs.Advice{{Name: "none"}},
		Features: costs.FeatureSource{Name: "text small", Dim: hftest.Hidden},
	}}
	label := costs.Facts{Fact: costs.Fact{Name: "label", Values: []string{"no", "yes"}}}
	for n := range rows {
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint("row-", n)), append(t.Splits, costs.Train)
		for range t.Dim {
			t.Features = append(t.Features, float32(0.3*r.NormFloat64()))
		}
		for _, right := range []float64{0.6, 0.95} {
			loss, says := float32(1), float32(r.IntN(2))
			if r.Float64() < right {
				loss = 0
			}
			if (loss == 1) == (r.Float64() < 0.9) {
				says = float32(math.NaN())
			}
			t.Loss, label.Data = append(t.Loss, loss), append(label.Data, says)
		}
	}
	t.Facts = []costs.Facts{label}
	return t
}

// A cascade that was trained for any price escalates where that is worth the fee of the request, in every protocol, and its decisions can
// be made again from the log.
func TestTrainedCascadeAtPrices(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a cascade")
	}
	s := fit.DefaultSettings()
	s.Auto.Networks, s.Auto.Ridge, s.Auto.Neighbours, s.Folds = nil, []float64{1, 100}, []int{50}, 2
	p, report, err := fit.TrainAnyPrice(t.Context(), lookedAt(1500, 1), policy.DefaultPriceRange(), s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil || report.Guard.Fallback {
		t.Fatalf("%v, %+v", err, report.Guard)
	}
	w := newWorldOf(t, nil, nil, func(folder string, _ *decision.Settings) {
		writeCascadeOf(t, folder, func(at *cascade.Policy) { *at = *p })
	})
	w.large.Text = sure
	for _, c := range []struct {
		small, large float64 // fees
		text, stages string
	}{
		{0.02, 0.2, sure, "small/none"},
		{0.02, 0.2, unsure, "small/none,large/none"},
		{0.02, 0.4, unsure, "small/none,large/none"},
		{0.02, 1.5, unsure, "small/none"},
		{0.7, 0.05, unsure, "large/none"},
		{0.7, 0.2, sure, "large/none"},
	} {
		for _, caller := range protocolNames {
			w.small.Text = c.text
			a := w.askIn(t, caller, plainRequest(caller, "pipe/any", false), "X-Pipe-Fees", fmt.Sprintf("expert=small:%g,expert=large:%g", c.small, c.large))
			if a.status != 200 || a.header.Get(headerStages) != c.stages {
				t.Errorf("%s, %+v: %d %v", caller, c, a.status, a.header)
			}
		}
	}
	for _, rec := range w.records(t) {
		w.checkRecord(t, rec)
	}
}
