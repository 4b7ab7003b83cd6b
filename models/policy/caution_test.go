package policy

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs/coststest"
	"pipe/onnx/ort/orttest"
)

// The exported file adds the caution of a pair in decisions, as the reference does, and never takes a pair with +Inf; expected losses are
// those without caution.
func TestCaution(t *testing.T) {
	rt := orttest.Open(t, 0)
	const rows, dim = 200, 5
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 12))
		p := &Policy{Actions: coststest.Actions([]float64{0, 0.1}, []float64{0, 0.05}), Method: "auto", Lambda: 1, Decoder: DecoderEstimate, Dim: dim, Estimate: randomEstimate(rng, dim, 4)}
		without := *p.Estimate
		p.Estimate.Caution = []float64{0.3 * rng.Float64(), math.Inf(1), 0.3 * rng.Float64(), 0}
		x := coststest.Floats(rng, rows*dim)
		decide := func(e *Estimate) *Decisions {
			own := *p
			own.Estimate = e
			m, err := own.Export()
			if err != nil {
				t.Fatal(err)
			}
			d, err := NewDecider(rt, m)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			out, err := d.Decide(context.Background(), x, rows)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		with, plain := decide(p.Estimate), decide(&without)
		other := 0
		for n := range rows {
			want, row := make([]float64, 4), make([]float64, dim)
			for c := range row {
				row[c] = float64(x[n*dim+c])
			}
			decodeEstimate{}.scores(want, p, row)
			for i, s := range want {
				if got := float64(with.Scores[n*4+i]); math.Abs(got-s) > 1e-4*max(1, math.Abs(s)) {
					t.Fatalf("seed %d, row %d: score %d is %v, reference %v", seed, n, i, got, s)
				}
			}
			if with.Action[n] == 1 {
				t.Fatalf("seed %d, row %d takes the pair with infinite caution", seed, n)
			}
			if with.Action[n] != plain.Action[n] {
				other++
			}
			if len(without.Selection.X) == 0 && with.Loss[n*4] != plain.Loss[n*4] {
				t.Fatalf("seed %d, row %d: expected loss %v, without caution %v", seed, n, with.Loss[n*4], plain.Loss[n*4])
			}
			if !math.IsNaN(Expected(with.Loss[n*4+1])) || math.IsNaN(Expected(with.Loss[n*4])) {
				t.Fatalf("seed %d, row %d: expected loss %v of a pair of which nothing is known", seed, n, with.Loss[n*4+1])
			}
		}
		if other == 0 {
			t.Errorf("seed %d: caution changes no decision", seed)
		}
		for want, caution := range map[string][]float64{"no pair may be chosen": slices.Repeat([]float64{math.Inf(1)}, 4), "cautions of 1": {0}, "the caution of": {0, -1, 0, 0}} {
			p.Estimate.Caution = caution
			if err := p.Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("caution %v: %v, want %q", caution, err, want)
			}
		}
	}
}
