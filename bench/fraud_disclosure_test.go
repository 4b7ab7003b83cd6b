package bench

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/replay"
)

// nestedTensor has two experts and three levels of advice, the last two of which open a first and then also a second
// group of columns.
func nestedTensor(r *rand.Rand, n int) (*costs.Tensor, []openedGroup) {
	t := &costs.Tensor{
		Actions: &costs.Actions{
			Experts: []costs.Expert{{Name: "a", Fee: 0.01}, {Name: "b", Fee: 0.02}},
			Advice:  []costs.Advice{{Name: "none"}, {Name: "contact", Fee: 0.1}, {Name: "device", Fee: 0.3}},
		},
		Dim: 1,
	}
	for range n {
		t.IDs, t.Splits, t.Features = append(t.IDs, ""), append(t.Splits, costs.Val), append(t.Features, 0)
		for range t.Actions.Len() {
			t.Loss = append(t.Loss, float32(r.IntN(2)))
		}
	}
	return t, []openedGroup{{"contact", []bool{false, true, true}}, {"device", []bool{false, false, true}}}
}

// TestDisclosureByHand follows three rows: one closed, one that opens contact, one that opens both.
func TestDisclosureByHand(t *testing.T) {
	tensor, groups := nestedTensor(rand.New(rand.NewPCG(1, 1)), 3)
	tensor.Loss = []float32{
		0, 1, 1, 1, 1, 1,
		1, 0, 1, 1, 1, 1,
		1, 1, 1, 1, 1, 0,
	}
	l := replay.Decisions{Info: &policy.Info{Method: "ours"}, Action: []int{0, 1, 5}, Scores: []float32{
		9, 0, 0, 0, 0, 0,
		0, 9, 0, 0, 0, 0,
		0, 0, 0, 0, 3, 9, // without device: b/contact
	}}
	got := disclosureOf(tensor, []int{0, 1, 2}, []replay.Decisions{l}, 1, groups)
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	contact, device := got[0], got[1]
	near("contact opened", contact.Opened, 2.0/3)
	near("contact gross", *contact.Gross, 1)               // both rows would be wrong without
	near("contact net", *contact.Net, (0.9+0.7)/2)         // 1 saved, 0.1 and 0.3 paid
	near("device opened", device.Opened, 1.0/3)            //
	near("device gross", *device.Gross, 1)                 // b/contact is wrong there
	near("device net", *device.Net, 1-0.2)                 // 0.3 instead of 0.1 paid
	near("true loss", device.TrueLoss, (0.01+0.11+0.32)/3) //
	near("without device", *device.Without, (0.01+0.11+1.12)/3)
	near("without contact", *contact.Without, (0.01+1.01+1.01)/3) // rows 1 and 2 fall to a/none, the first of equals
}

// TestDisclosureLaws: a group that is never opened has no benefit and changes nothing; shares are nested; the net
// benefit is the gross one minus the fees between the levels.
func TestDisclosureLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		lambda := rapid.Float64Range(0, 5).Draw(t, "lambda")
		tensor, groups := nestedTensor(r, rapid.IntRange(1, 30).Draw(t, "rows"))
		l := replay.Decisions{Info: &policy.Info{Method: "ours"}}
		var rows []int
		for n := range tensor.Len() {
			rows = append(rows, n)
			scores := make([]float32, tensor.Actions.Len())
			best := 0
			for i := range scores {
				if scores[i] = r.Float32(); scores[i] > scores[best] {
					best = i
				}
			}
			l.Action, l.Scores = append(l.Action, best), append(l.Scores, scores...)
		}
		out := disclosureOf(tensor, rows, []replay.Decisions{l}, lambda, groups)
		if out[0].Opened < out[1].Opened {
			t.Fatalf("contact opened %v, device %v", out[0].Opened, out[1].Opened)
		}
		for g, d := range out {
			if d.Without == nil || (d.Gross == nil) != (d.Opened == 0) {
				t.Fatalf("%+v", d)
			}
			if d.Opened == 0 && *d.Without != d.TrueLoss {
				t.Fatalf("group %d is never opened, and without it %v instead of %v", g, *d.Without, d.TrueLoss)
			}
		}
		if d := out[1]; d.Gross != nil && math.Abs(*d.Gross-*d.Net-lambda*0.2) > 1e-6 {
			t.Fatalf("gross %v net %v at lambda %v", *d.Gross, *d.Net, lambda)
		}
	})
}
