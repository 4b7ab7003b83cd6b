package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
)

// TestRoutedPictures: the first policy of a method and lambda decides. Every chosen pair has its share and at most the
// configured number of instances, evenly over those routed to it.
func TestRoutedPictures(t *testing.T) {
	a := &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "views"}}}
	tensor := &costs.Tensor{Actions: a, Dim: 0}
	j := &judged{t: tensor}
	for n := range 10 {
		tensor.IDs, tensor.Labels = append(tensor.IDs, string(rune('p'+n))), append(tensor.Labels, "cat")
		tensor.Loss = append(tensor.Loss, 0, 1, 0, 1)
		tensor.Predictions = append(tensor.Predictions, "cat", "dog", "cat", "dog")
		if n >= 2 {
			j.rows = append(j.rows, n)
		}
	}
	policy := func(method string, lambda float64, actions ...int) replay.Decisions {
		return replay.Decisions{Info: &policy.Info{Method: method, Lambda: lambda}, Action: actions}
	}
	j.learned = []replay.Decisions{
		policy("ours", 0, 1, 1, 1, 1, 1, 1, 2, 2),
		policy("ours", 0, 0, 0, 0, 0, 0, 0, 0, 0), // another seed
		policy("ours", 1, 3, 3, 3, 3, 3, 3, 3, 3), // not one of the requested regimes
		policy("l2d", 0, 0, 0, 0, 0, 0, 0, 0, 0),
	}
	right, wrong := report.Picture{Label: "cat", Answer: "cat"}, report.Picture{Label: "cat", Answer: "dog", Loss: 1}
	of := func(p report.Picture, ids ...string) (out []report.Picture) {
		for _, id := range ids {
			p.ID = id
			out = append(out, p)
		}
		return out
	}
	want := []report.PairPictures{
		{Method: "ours", Expert: "a", Advice: "views", Routed: 0.75, Shown: of(wrong, "r", "t", "v")},
		{Method: "ours", Expert: "b", Advice: "none", Routed: 0.25, Shown: of(right, "x", "y")},
	}
	if diff := cmp.Diff(want, routedPictures(j, pictureConfig{PerPair: 3, Lambdas: []float64{0}}, nil)); diff != "" {
		t.Error(diff)
	}
	if got := routedPictures(j, pictureConfig{}, []float64{0}); got != nil {
		t.Errorf("none are wanted: %v", got)
	}
	if diff := cmp.Diff([]float64{0, 1}, (&pictureConfig{}).lambdas([]float64{2, 0, 1})); diff != "" {
		t.Errorf("the lowest and the middle lambda: %s", diff)
	}
}
