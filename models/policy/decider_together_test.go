package policy

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs/coststest"
	"pipe/onnx/ort/orttest"
)

// drawAsks are calls of one to many rows, each with prices of the file, of the call or of every row, some of them bad.
func drawAsks(t *rapid.T, p *Policy, x []float32) (asks []*Ask, bad []bool) {
	dim := p.FeatureDim()
	for range rapid.IntRange(1, 9).Draw(t, "calls") {
		a := &Ask{Rows: rapid.IntRange(1, 5).Draw(t, "rows")}
		first := rapid.IntRange(0, len(x)/dim-a.Rows).Draw(t, "first")
		a.Features = append(a.Features, x[first*dim:(first+a.Rows)*dim]...)
		if p.Estimate != nil && p.Estimate.Prices != nil {
			for range rapid.SampledFrom([]int{0, 1, a.Rows}).Draw(t, "prices") {
				a.Prices = append(a.Prices, drawPrices(t, p))
			}
		}
		wrong := rapid.IntRange(0, 5).Draw(t, "wrong") == 0
		if wrong {
			a.Features[rapid.IntRange(0, len(a.Features)-1).Draw(t, "at")] = float32(math.Inf(1))
		}
		asks, bad = append(asks, a), append(bad, wrong)
	}
	return asks, bad
}

// Whatever runs together, every call gets the bits that it gets alone, and a bad call fails alone.
func checkTogether(t *testing.T, p *Policy, d *Decider, x []float32) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		asks, bad := drawAsks(t, p, x)
		d.DecideTogether(context.Background(), asks)
		for i, a := range asks {
			alone := &Ask{Features: a.Features, Rows: a.Rows, Prices: a.Prices}
			d.DecideTogether(context.Background(), []*Ask{alone})
			var row *RowError
			switch {
			case bad[i] && (!errors.As(a.Err, &row) || a.Answer != nil):
				t.Fatalf("call %d is bad: %v", i, a.Err)
			case !bad[i] && (a.Err != nil || alone.Err != nil):
				t.Fatalf("call %d: %v, alone %v", i, a.Err, alone.Err)
			case !reflect.DeepEqual(a.Answer, alone.Answer):
				t.Fatalf("call %d: %+v, alone %+v", i, a.Answer, alone.Answer)
			}
		}
	})
}

func TestTogetherEqualsAlone(t *testing.T) {
	for seed := range uint64(4) {
		p, d, x := anyPrice(t, seed)
		checkTogether(t, p, d, x)
	}
	for _, decoder := range []Decoder{DecoderComposite, DecoderSeparatedSoftmax, DecoderFixed} {
		rng := rand.New(rand.NewPCG(3, 3))
		members := 2
		if decoder == DecoderFixed {
			members = 0
		}
		p := randomPolicy(rng, decoder, members, true)
		checkTogether(t, p, mustDecider(t, orttest.Open(t, 0), p), coststest.Floats(rng, 20*p.FeatureDim()))
	}
}

// A wide policy: the runtime's code for matrices has other paths for many rows and columns.
func TestTogetherEqualsAloneWhenWide(t *testing.T) {
	const dim, rows = 384, 150
	p := benchmarkPolicy(dim, 64, 3)
	d, x := mustDecider(t, orttest.Open(t, 0), p), coststest.Floats(rand.New(rand.NewPCG(1, 4)), rows*dim)
	for _, most := range []int{1, 3, 17, 150} {
		var asks []*Ask
		for first := 0; first < rows; first += most {
			n := min(most, rows-first)
			asks = append(asks, &Ask{Features: x[first*dim : (first+n)*dim], Rows: n})
		}
		d.DecideTogether(t.Context(), asks)
		for i, a := range asks {
			alone := &Ask{Features: a.Features, Rows: a.Rows}
			d.DecideTogether(t.Context(), []*Ask{alone})
			if a.Err != nil || !reflect.DeepEqual(a.Answer, alone.Answer) {
				t.Fatalf("call %d of %d rows differs from itself alone: %v", i, most, a.Err)
			}
			one, err := d.Decide(t.Context(), a.Features, a.Rows)
			if err != nil || !reflect.DeepEqual(one.Action, a.Answer.Action) {
				t.Fatalf("call %d: Decide chooses %v (%v), together %v", i, one, err, a.Answer)
			}
		}
	}
}

func TestTogetherRefuses(t *testing.T) {
	p, d, x := anyPrice(t, 1)
	dim := p.FeatureDim()
	fine := PricesOf(p.Actions, 1)
	unfree := PricesOf(p.Actions, 1)
	unfree.Advice = append([]float64{1}, unfree.Advice[1:]...)
	asks := []*Ask{
		{Features: x[:2*dim], Rows: 1},
		{Features: nil, Rows: 0},
		{Features: x[:2*dim], Rows: 2, Prices: []*Prices{fine, fine, fine}},
		{Features: x[:2*dim], Rows: 2, Prices: []*Prices{fine, unfree}},
		{Features: x[:dim], Rows: 1},
	}
	d.DecideTogether(t.Context(), asks)
	for i, a := range asks {
		if last := i == len(asks)-1; (a.Err == nil) != last || (a.Answer != nil) != last {
			t.Errorf("call %d: %v", i, a.Err)
		}
	}
	var row *RowError
	if !errors.As(asks[3].Err, &row) || row.Row != 1 {
		t.Errorf("the error of wrong prices is %v", asks[3].Err)
	}
	huge := []*Ask{}
	for range 3 {
		huge = append(huge, &Ask{Features: make([]float32, 400*dim), Rows: 400})
	}
	d.DecideTogether(t.Context(), huge)
	if huge[0].Err == nil {
		t.Error("1,200 rows ran together")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d.DecideTogether(t.Context(), asks[4:])
	if asks[4].Err == nil {
		t.Error("a closed decider decided")
	}
}

func BenchmarkDecideTogether(b *testing.B) {
	const dim = 384
	p := benchmarkPolicy(dim, 64, 1)
	d := mustDecider(b, orttest.Open(b, 1), p)
	x := coststest.Floats(rand.New(rand.NewPCG(1, 4)), dim)
	asks := []*Ask{{Features: x, Rows: 1}}
	b.ReportAllocs()
	for b.Loop() {
		if d.DecideTogether(b.Context(), asks); asks[0].Err != nil {
			b.Fatal(asks[0].Err)
		}
	}
}
