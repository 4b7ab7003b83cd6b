package policy

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs/coststest"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/onnx/ort/orttest"
)

// anyPrice opens an any-price policy with rows of features.
func anyPrice(t testing.TB, seed uint64) (*Policy, *Decider, []float32) {
	rng := rand.New(rand.NewPCG(seed, 8))
	p := randomPolicy(rng, DecoderEstimate, 0, seed%2 == 1)
	r := DefaultPriceRange()
	p.Estimate.Prices = &r
	p.Estimate.Margin = 0.1 * float64(seed%3)
	return p, exported(t, p), coststest.Floats(rng, 20*p.FeatureDim())
}

// exported opens the file of a policy.
func exported(t testing.TB, p *Policy) *Decider {
	t.Helper()
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecider(orttest.Open(t, 0), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// drawPrices are random fees, sometimes of pairs too and with a mask that leaves an existing pair.
func drawPrices(t *rapid.T, p *Policy) *Prices {
	fee := rapid.Map(rapid.Float32Range(0, 2), func(v float32) float64 { return float64(v) })
	at := &Prices{
		Lambda:  1,
		Experts: rapid.SliceOfN(fee, len(p.Actions.Experts), len(p.Actions.Experts)).Draw(t, "experts"),
		Advice:  rapid.SliceOfN(fee, len(p.Actions.Advice), len(p.Actions.Advice)).Draw(t, "advice"), Available: p.Actions.Mask(),
	}
	at.Advice[0] = 0
	if rapid.Bool().Draw(t, "of pairs") {
		at.Pairs = rapid.SliceOfN(fee, p.Actions.Len(), p.Actions.Len()).Draw(t, "pairs")
	}
	if rapid.Bool().Draw(t, "masked") {
		at.Available = rapid.SliceOfN(rapid.Bool(), p.Actions.Len(), p.Actions.Len()).Draw(t, "mask")
		at.Available[0] = true // action 0 always exists
	}
	return at
}

func decideAt(t interface{ Fatal(...any) }, d *Decider, at *Prices, x []float32) *Decisions {
	out, err := d.DecideAt(context.Background(), at, x, len(x)/d.Info().Dim)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// At every price, an any-price policy decides as the policy with these prices in its actions.
func TestAnyPriceEqualsAPolicyPerPrice(t *testing.T) {
	for seed := range uint64(6) {
		p, d, x := anyPrice(t, seed)
		rng := rand.New(rand.NewPCG(seed, 9))
		for range 5 {
			own, a, e := *p, *p.Actions, *p.Estimate
			a.Experts, a.Advice = slices.Clone(a.Experts), slices.Clone(a.Advice)
			for j := range a.Experts {
				a.Experts[j].Fee = float64(float32(rng.Float64()))
			}
			for k := 1; k < len(a.Advice); k++ {
				a.Advice[k].Fee = float64(float32(rng.Float64()))
			}
			e.Prices = nil
			own.Actions, own.Estimate, own.Lambda = &a, &e, 2*rng.Float64()
			m, err := own.Export()
			if err != nil {
				t.Fatal(err)
			}
			frozen, err := NewDecider(orttest.Open(t, 0), m)
			if err != nil {
				t.Fatal(err)
			}
			want, got := decideAt(t, frozen, PricesOf(&a, own.Lambda), x), decideAt(t, d, PricesOf(&a, own.Lambda), x)
			frozen.Close()
			for i, s := range want.Scores {
				if diff := s - got.Scores[i]; diff > 1e-5 || diff < -1e-5 || want.Cost[i]-got.Cost[i] > 1e-5 || math.Abs(float64(want.Loss[i]-got.Loss[i])) > 1e-5 {
					t.Fatalf("seed %d: scores %g and %g, costs %g and %g", seed, s, got.Scores[i], want.Cost[i], got.Cost[i])
				}
			}
		}
	}
}

// Raising one fee never makes that pair chosen.
func TestDearerPairsAreNotChosenMore(t *testing.T) {
	for seed := range uint64(6) {
		p, d, x := anyPrice(t, seed)
		rapid.Check(t, func(t *rapid.T) {
			at := drawPrices(t, p)
			before := decideAt(t, d, at, x)
			i := rapid.IntRange(0, p.Actions.Len()-1).Draw(t, "pair")
			dearer := *at
			dearer.Pairs = slices.Clone(at.Pairs)
			if dearer.Pairs == nil {
				dearer.Pairs = make([]float64, p.Actions.Len())
			}
			dearer.Pairs[i] += float64(rapid.Float32Range(0, 3).Draw(t, "rise"))
			after := decideAt(t, d, &dearer, x)
			for n, action := range after.Action {
				if int(action) == i && before.Action[n] != action {
					t.Fatalf("row %d: %s is chosen since it is dearer", n, p.Actions.Name(i))
				}
			}
		})
	}
}

// A pair that is masked out is never chosen, and taking away a pair that was not chosen, nor the best fixed one, changes
// nothing. The same decisions come from fees of experts and advice, and from the same fees by pair.
func TestMasksAndFeesByPair(t *testing.T) {
	for seed := range uint64(6) {
		p, d, x := anyPrice(t, seed)
		rapid.Check(t, func(t *rapid.T) {
			at := drawPrices(t, p)
			got := decideAt(t, d, at, x)
			byPair := &Prices{Lambda: 1, Experts: make([]float64, len(at.Experts)), Advice: make([]float64, len(at.Advice)), Available: at.Available}
			for i := range p.Actions.Len() {
				j, k := p.Actions.Pair(i)
				fee := float32(at.Experts[j]) + float32(at.Advice[k]) // as the graph adds them
				if at.Pairs != nil {
					fee += float32(at.Pairs[i])
				}
				byPair.Pairs = append(byPair.Pairs, float64(fee))
			}
			if other := decideAt(t, d, byPair, x); !slices.Equal(other.Scores, got.Scores) {
				t.Fatal("fees by pair give other scores")
			}
			for n, action := range got.Action {
				if !at.Available[action] {
					t.Fatalf("row %d: %s is masked out", n, p.Actions.Name(int(action)))
				}
			}
		})
	}
}

// BenchmarkDecideOneByEstimates is the time of one decision, by what the policy is made of.
func BenchmarkDecideOneByEstimates(b *testing.B) {
	const dim, rows = 384, 20_000
	rng := rand.New(rand.NewPCG(1, 1))
	actions := coststest.Actions(make([]float64, 4), make([]float64, 2))
	pairs := actions.Len()
	layer := func(in, out int) network.Affine {
		return network.Affine{Out: out, In: in, W: coststest.Floats(rng, out*in), B: coststest.Floats(rng, out)}
	}
	var nets []estimate.Part
	for range 6 { // two architectures with three seeds
		nets = append(nets, estimate.Part{Weight: 1. / 6, Estimator: estimate.Network{MLP: network.MLP{Layers: []network.Affine{layer(dim, 128), layer(128, pairs)}}, High: 1}})
	}
	ridge := estimate.Part{Weight: 1, Estimator: estimate.Linear{Affine: layer(dim, pairs)}}
	near := estimate.Part{Weight: 1, Estimator: &estimate.Neighbours{
		Dim: dim, Rows: coststest.Floats(rng, rows*dim), Losses: coststest.Floats(rng, rows*pairs), ByRank: estimate.Mean(200),
	}}
	for _, c := range []struct {
		name  string
		parts []estimate.Part
	}{{"six networks", nets}, {"ridge", []estimate.Part{ridge}}, {"200 of 20000 neighbours", []estimate.Part{near}}, {"all", append(nets, ridge, near)}} {
		r := DefaultPriceRange()
		p := &Policy{
			Actions: actions, Method: "auto", Recipe: "auto", Lambda: 1, Decoder: DecoderEstimate, Dim: dim,
			Estimate: &Estimate{Blend: estimate.Blend{Parts: c.parts}, Constant: make([]float64, pairs), Margin: 0.01, Prices: &r},
		}
		m, err := p.Export()
		if err != nil {
			b.Fatal(err)
		}
		d, err := NewDecider(orttest.Open(b, 0), m)
		if err != nil {
			b.Fatal(err)
		}
		defer d.Close()
		x := coststest.Floats(rng, dim)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := d.DecideOne(context.Background(), nil, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestPricesRefuse(t *testing.T) {
	p, d, x := anyPrice(t, 2)
	good := PricesOf(p.Actions, 1)
	for name, change := range map[string]func(at *Prices){
		"no prices":       func(at *Prices) { *at = Prices{} },
		"an expert less":  func(at *Prices) { at.Experts = at.Experts[1:] },
		"none is free":    func(at *Prices) { at.Advice = append([]float64{1}, at.Advice[1:]...) },
		"not finite":      func(at *Prices) { at.Lambda = math.Inf(1) },
		"too large":       func(at *Prices) { at.Experts = append([]float64{1e300}, at.Experts[1:]...) },
		"pairs missing":   func(at *Prices) { at.Pairs = []float64{1} },
		"no mask":         func(at *Prices) { at.Available = nil },
		"nothing is left": func(at *Prices) { at.Available = make([]bool, p.Actions.Len()) },
	} {
		at := new(*good)
		change(at)
		if _, err := d.DecideAt(context.Background(), at, x, 20); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
