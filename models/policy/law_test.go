package policy

import (
	"math"
	"testing"

	"pipe/costs/coststest"
	"pipe/models/network"
)

// Worked example: routers and queries chosen separately execute one pair, and
// only that pair is paid for.
func TestExecutedPairExample(t *testing.T) {
	a := coststest.Actions([]float64{0, 0, 0}, []float64{0, 0, 0})
	p := &Policy{
		Actions: a, Method: "separated_softmax", Tau: 1, Decoder: DecoderSeparatedSoftmax,
		Members: []network.MLP{{Layers: []network.Affine{{Out: 12, In: 1, W: make([]float32, 12), B: []float32{
			0.8, 1.2, 0.5,
			0.6, 0.3, 0.1,
			0.2, 0.9, 0.4,
			0.5, 0.1, 0.7,
		}}}}},
	}
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	action := mustDecide(t, p, []float32{0})
	if j, k := a.Pair(action); j != 1 || k != 1 {
		t.Fatalf("executed pair (%d, %d), want (1, 1)", j, k)
	}
	tensor := coststest.Tensor(a, []float32{0.35, 0.42, 0.38, 0.40, 0.20, 0.45, 0.50, 0.48, 0.25})
	if loss := tensor.TrueLoss([]int{0}, []int{action}, 1); math.Abs(loss-0.20) > 1e-7 {
		t.Fatalf("true loss %v, want 0.20", loss)
	}
}
