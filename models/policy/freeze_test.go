package policy

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/onnx/ort/orttest"
)

// drawChange is a change of prices that leaves action 0.
func drawChange(t *rapid.T, p *Policy) PriceChange {
	var c PriceChange
	if rapid.Bool().Draw(t, "other lambda") {
		c.Lambda = new(rapid.Float64Range(0, 20).Draw(t, "lambda"))
	}
	for _, e := range p.Actions.Experts {
		if rapid.Bool().Draw(t, "of "+e.Name) {
			c.Fees = append(c.Fees, Fee{Expert(e.Name), rapid.Float64Range(0, 3).Draw(t, "fee")})
		}
	}
	for _, v := range p.Actions.Advice[1:] {
		if rapid.Bool().Draw(t, "of "+v.Name) {
			c.Fees = append(c.Fees, Fee{Advice(v.Name), rapid.Float64Range(0, 3).Draw(t, "fee")})
		}
	}
	for i := 1; i < p.Actions.Len(); i++ {
		if rapid.IntRange(0, 4).Draw(t, "left out") == 0 {
			c.Without = append(c.Without, Pair(p.Actions.Name(i)))
		}
	}
	return c
}

// sameBits reports whether two lists have the same float32 values, bit for bit.
func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// A frozen policy has the scores of the any-price policy at its prices, bit for bit, for one row and for many.
func TestFrozenPolicyHasTheSameScores(t *testing.T) {
	rt := orttest.Open(t, 0)
	for seed := range uint64(6) {
		p, d, x := anyPrice(t, seed)
		m, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			frozen, at, err := Freeze(m, drawChange(t, p))
			if err != nil {
				t.Fatal(err)
			}
			f, err := NewDecider(rt, frozen)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, rows := range []int{1, 20} {
				part := x[:rows*p.FeatureDim()]
				want := decideAt(t, d, at, part)
				got, err := f.Decide(context.Background(), part, rows)
				if err != nil {
					t.Fatal(err)
				}
				if !sameBits(got.Scores, want.Scores) || !sameBits(got.Loss, want.Loss) || !sameBits(got.Cost, want.Cost) || !slices.Equal(got.Action, want.Action) {
					t.Fatalf("%d rows: scores %v, want %v", rows, got.Scores, want.Scores)
				}
			}
		})
	}
}

// A frozen file has the contract of policies with fixed prices: features are all that its graph takes, and its metadata
// say at which prices it decides.
func TestFrozenPolicyIsAPolicyWithFixedPrices(t *testing.T) {
	p := randomPolicy(rand.New(rand.NewPCG(2, 8)), DecoderEstimate, 0, false)
	r := DefaultPriceRange()
	p.Estimate.Prices = &r
	p.Info = map[string]string{GuardKey: Guard{Fixed: p.Actions.Name(0), Rows: 3}.JSON(), "validation": "0.5", SeedKey: "7"}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	before, _ := m.Marshal()
	fee := Fee{Expert(p.Actions.Experts[0].Name), 0.75}
	for _, c := range []PriceChange{{}, {Lambda: new(2.0)}, {Fees: []Fee{fee}}, {Lambda: new(100.0), Without: []Part{Pair(p.Actions.Name(p.Actions.Len() - 1))}}} {
		frozen, _, err := Freeze(m, c)
		if err != nil {
			t.Fatal(err)
		}
		if in := frozen.Proto.GetGraph().GetInput(); len(in) != 1 || in[0].GetName() != FeaturesInput {
			t.Errorf("%+v: inputs %v", c, in)
		}
		info, err := Parse(frozen)
		if err != nil {
			t.Fatal(err)
		}
		if info.Format != 1 || info.Prices != nil || info.Info[SeedKey] != "7" || len(info.Info[FrozenKey]) != 64 {
			t.Errorf("%+v: metadata %+v", c, info)
		}
		if c.Lambda != nil && info.Lambda != *c.Lambda || c.Lambda == nil && info.Lambda != p.Lambda {
			t.Errorf("%+v: lambda %g", c, info.Lambda)
		}
		if c.Fees != nil && info.Actions.Experts[0].Fee != 0.75 {
			t.Errorf("%+v: fee %g", c, info.Actions.Experts[0].Fee)
		}
		if info.Guard != nil || info.Info["validation"] != "" {
			t.Errorf("%+v: guard %v", c, info.Guard)
		}
		if got := info.Info[WithoutKey] != ""; got != (c.Without != nil) {
			t.Errorf("%+v: without %q", c, info.Info[WithoutKey])
		}
		if got := info.Info[UncheckedKey] != ""; got != (c.Without != nil || c.Fees != nil) {
			t.Errorf("%+v: unchecked %q", c, info.Info[UncheckedKey])
		}
		if err := info.Actions.SameSet(p.Actions); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if _, _, err := Freeze(frozen, PriceChange{}); !errors.Is(err, ErrFixedPrices) {
			t.Errorf("frozen twice: %v", err)
		}
	}
	if after, _ := m.Marshal(); !slices.Equal(before, after) {
		t.Error("the any-price policy changed")
	}
	if _, _, err := Freeze(m, PriceChange{Fees: []Fee{{Pair(p.Actions.Name(0)), 0.5}}}); err == nil || !strings.Contains(err.Error(), "fees of pairs") {
		t.Errorf("fees of pairs: %v", err)
	}
	if _, _, err := Freeze(m, PriceChange{Fees: []Fee{{Of: Expert("missing"), Amount: 1}}}); err == nil || !strings.Contains(err.Error(), "unknown expert") {
		t.Errorf("error %v", err)
	}
}

// A pair that was left out when a policy was frozen is not chosen later either.
func TestFrozenPolicyLeavesPairsOut(t *testing.T) {
	p, _, x := anyPrice(t, 4)
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	first := p.Actions.Name(0)
	frozen, _, err := Freeze(m, PriceChange{Without: []Part{Pair(first)}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecider(orttest.Open(t, 0), frozen)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	out, err := d.Decide(context.Background(), x, 20)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(out.Action, 0) {
		t.Errorf("%s is chosen", first)
	}
	only := make([]bool, p.Actions.Len())
	only[0] = true
	var row *RowError
	if err := out.Masked(only); !errors.As(err, &row) {
		t.Errorf("only the pair that was left out: %v", err)
	}
}
