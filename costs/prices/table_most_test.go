package prices

import (
	"math/rand/v2"
	"testing"
)

// No usage within the bounds costs more than Most, also above a tier and with prices of special tokens.
func TestMost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	price := func() *float64 { v := 10 * r.Float64(); return &v }
	reached := 0
	for range 20000 {
		p := Period{In: price(), Cached: price(), Out: price(), Call: price()}
		p.CacheWrite, p.Reasoning = price(), price()
		if r.IntN(2) == 0 {
			p.Above = []Tier{{Tokens: 500, In: price(), Cached: price(), Out: price(), Special: Special{CacheWrite: price(), Reasoning: price()}}}
		}
		in, out := float64(1+r.IntN(1000)), float64(1+r.IntN(1000))
		most, ok := p.Most(in, out)
		u := Usage{In: float64(r.IntN(int(in) + 1)), Out: float64(r.IntN(int(out) + 1))}
		if r.IntN(3) == 0 {
			u.In, u.Out = in, out
		}
		switch r.IntN(3) {
		case 0:
			u.Cached = u.In
		case 1:
			u.Written = int64(u.In)
		}
		if r.IntN(2) == 0 {
			u.Reasoning = int64(u.Out)
		}
		money, err := p.Cost(u)
		if err != nil || !ok || money > most*(1+1e-12) {
			t.Fatalf("%+v costs %v, at most %v, %v", u, money, most, err)
		}
		if money > 0.999*most {
			reached++
		}
	}
	if reached < 100 {
		t.Errorf("the bound was reached %d times", reached)
	}
	if _, ok := (Period{In: price()}).Most(1, 0); ok {
		t.Error("a bound without a price of answers")
	}
}
