package cascade

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// A file with fixed prices leaves out pairs that are not available, of each row its own, and decides as before on other rows.
func TestFixedPricesTakeMasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	p := planted(rng, 3, 4, 8)
	d, r := open(t, orttest.Open(t, 0), p), randomRows(rng, p, 1500)
	want, err := d.Next(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	at := make([]*policy.Prices, r.N)
	for n := range at {
		if at[n] = d.Info().Base(); n%2 == 1 {
			at[n].Available[n/2%6] = false
		}
	}
	got, err := d.NextAt(t.Context(), at, r)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for n, action := range got.Action {
		executed := r.Executed[n*6 : n*6+6]
		can := func(i int) bool { return at[n].Available[i] || executed[i] }
		pair, free := want.Possible(n, 6, can)
		if int(action) != pair || got.Accept[n] != executed[pair] || got.Remaining[n] != want.Cost[n*6+pair] {
			t.Fatalf("row %d: %d, want %d", n, action, pair)
		}
		for i := range 6 {
			if c := got.Cost[n*6+i]; can(i) && c != want.Cost[n*6+i] || !can(i) && c != none {
				t.Errorf("row %d: pair %d costs %g", n, i, c)
			}
		}
		if !free {
			changed++
		}
	}
	if changed < 50 {
		t.Errorf("%d changed decisions", changed)
	}
}

func TestNextAtRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	p := planted(rng, 3, 4, 8)
	d, r := open(t, orttest.Open(t, 0), p), randomRows(rng, p, 4)
	clear(r.Executed[6:])
	r.Executed[0] = true
	own := d.Info().Base()
	other, nothing, usage := d.Info().Base(), d.Info().Base(), d.Info().Base()
	other.Experts[1]++
	clear(nothing.Available)
	usage.Usage[0] = make([]float64, 3)
	for want, at := range map[string][]*policy.Prices{
		"fixed prices":                            {other},
		"row 3: the policy has fixed prices":      {own, own, own, other},
		"row 1: no pair may be executed":          {nothing},
		"prices of 3 rows for 4 rows":             {own, own, own},
		"row 2: the policy knows nothing of what": {own, own, usage, own},
	} {
		_, err := d.NextAt(t.Context(), at, r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if strings.Contains(want, "fixed prices") != errors.Is(err, policy.ErrFixedPrices) {
			t.Error(err)
		}
	}
	if _, err := d.NextAt(t.Context(), []*policy.Prices{nothing}, r.slice(0, 1, d.Info())); err != nil {
		t.Error(err) // its answer is accepted
	}
}

// plantedAny is planted for any price: some pairs are executed after others.
func plantedAny(rng *rand.Rand, experts, dim, hidden int) *Policy {
	p := planted(rng, experts, dim, hidden)
	r := policy.DefaultPriceRange()
	p.Prices, p.Range = &r, 1
	for n, s := range p.States {
		if s.Policy.Estimate == nil {
			p.States[n].Policy = estimated(rng, s.Policy.Actions, s.Encoding.Width(), hidden)
		}
	}
	for i, ok := range p.Actions.Mask() {
		for j, may := range p.Actions.Mask() {
			share := 0.0
			if ok && may && i != j && rng.IntN(2) == 0 {
				share = rng.Float64()
			}
			p.States[0].Later = append(p.States[0].Later, share)
		}
	}
	return p
}

// randomPrices are prices of every row, with pairs left out, but not all of them.
func randomPrices(rng *rand.Rand, i *Info, n int) []*policy.Prices {
	at := make([]*policy.Prices, n)
	for row := range at {
		p := i.Base()
		p.Lambda = 4 * rng.Float64()
		for j := range p.Experts {
			p.Experts[j] *= 3 * rng.Float64()
		}
		if p.Pairs = make([]float64, len(p.Available)); rng.IntN(2) == 0 {
			p.Pairs[rng.IntN(len(p.Pairs))] = rng.Float64()
		}
		if rng.IntN(3) == 0 {
			p.Available[rng.IntN(len(p.Pairs))] = false
		}
		at[row] = p
	}
	return at
}

// scoresAt are the scores of a row at prices, computed in Go.
func (p *Policy) scoresAt(t *testing.T, s State, x []float32, executed []bool, at *policy.Prices) []float64 {
	t.Helper()
	own, a := *s.Policy, *s.Policy.Actions
	a.Experts, a.Unavailable = slices.Clone(a.Experts), slices.Clone(a.Unavailable)
	for i := range a.Experts {
		if a.Experts[i].Fee = at.Fee(i); executed[i] {
			a.Experts[i].Fee = 0
		} else if !at.Available[i] && a.Available(i) {
			a.Unavailable = append(a.Unavailable, costs.Pair{Expert: i})
		}
	}
	for k, share := range s.Later {
		first, later := k/len(executed), k%len(executed)
		fee := at.Fee(later)
		if !at.Available[later] && !executed[later] {
			fee = p.Range
		}
		a.Experts[first].Fee += share * (fee - s.Policy.Actions.Experts[later].Fee)
	}
	own.Actions = &a
	scores := make([]float64, len(executed))
	if err := own.Scores(scores, x); err != nil {
		t.Fatal(err)
	}
	return scores
}

// A file for any price decides rows with prices of their own as Go does, and a row alone as in a batch.
func TestAnyPriceDecidesAsGo(t *testing.T) {
	rt := orttest.Open(t, 0)
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 21))
		p := plantedAny(rng, 3, 4, 16)
		d, r := open(t, rt, p), randomRows(rng, p, 1200)
		at := randomPrices(rng, d.Info(), r.N)
		got, err := d.NextAt(t.Context(), at, r)
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for n, action := range got.Action {
			executed := r.Executed[n*6 : n*6+6]
			var set []int
			for i, is := range executed {
				if is {
					set = append(set, i)
				}
			}
			x := r.Features[n*4 : n*4+4]
			if s := p.State(set); s >= 0 {
				compared++
				own := p.States[s]
				scores := p.scoresAt(t, own, own.Encoding.Encode(nil, x, r.Observed[n*18:n*18+18]), executed, at[n])
				if best := slices.Max(scores); scores[action] < best-1e-4*max(1, math.Abs(best)) {
					t.Errorf("seed %d, row %d in %v: %d, scores %v", seed, n, set, action, scores)
				}
			}
			for i, c := range got.Cost[n*6 : n*6+6] {
				if !at[n].Available[i] && !executed[i] && c != none {
					t.Errorf("row %d: pair %d is not available and costs %g", n, i, c)
				}
			}
			if n%40 == 0 {
				one, err := d.NextAt(t.Context(), at[n:n+1], r.slice(n, n+1, d.Info()))
				if err != nil || one.Action[0] != action || math.Abs(float64(one.Remaining[0]-got.Remaining[n])) > 1e-4 {
					t.Errorf("row %d: %d in a batch, %v alone, %v", n, action, one, err)
				}
			}
		}
		if compared < 500 {
			t.Errorf("%d rows in known states", compared)
		}
	}
}

// In no state does a higher fee of a pair make it the one that is executed next.
func TestHigherFeesAtAnyPrice(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 22))
	p := plantedAny(rng, 3, 4, 16)
	d, r := open(t, orttest.Open(t, 0), p), randomRows(rng, p, 900)
	at := randomPrices(rng, d.Info(), r.N)
	before, err := d.NextAt(t.Context(), at, r)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for pair := range 5 {
		for n := range at {
			own := *at[n]
			own.Pairs = slices.Clone(own.Pairs)
			own.Pairs[pair] += 0.3
			at[n] = &own
		}
		after, err := d.NextAt(t.Context(), at, r)
		if err != nil {
			t.Fatal(err)
		}
		for n, action := range after.Action {
			if action != before.Action[n] {
				changed++
			}
			if int(action) == pair && before.Action[n] != action && !after.Accept[n] {
				t.Errorf("row %d: %d is executed at a higher fee, in place of %d", n, pair, before.Action[n])
			}
		}
		before = after
	}
	if changed < 100 {
		t.Errorf("%d changed decisions", changed)
	}
}

func TestAnyPriceMetadata(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 23))
	p := plantedAny(rng, 3, 4, 8)
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	info, err := Parse(m)
	if err != nil || info.Format != 2 || info.Prices == nil || *info.Prices != *p.Prices {
		t.Fatalf("%+v, %v", info, err)
	}
	two := 2.0
	at, err := info.Price(policy.PriceChange{Lambda: &two, Fees: []policy.Fee{{Of: policy.Expert("e1"), Amount: 0.1}}, Without: []policy.Part{policy.Expert("e0")}})
	if err != nil || at.Lambda != 2 || at.Experts[1] != 0.1 || at.Available[0] || len(at.Unchecked) == 0 {
		t.Errorf("%+v, %v", at, err)
	}
	if _, err := info.Price(policy.PriceChange{UsageOf: []policy.UsagePrice{{Expert: "e1", Quantity: "tokens_in", Price: 1}}}); err == nil || !strings.Contains(err.Error(), "tokens") {
		t.Error(err)
	}
	for name, change := range map[string]func(){
		"too few":                   func() { p.States[0].Later = p.States[0].Later[1:] },
		"no share":                  func() { p.States[0].Later[2] = 1.5 },
		"without inputs for prices": func() { p.Prices = nil },
	} {
		p = plantedAny(rng, 3, 4, 8)
		change()
		if _, err := p.Export(); err == nil || !strings.Contains(err.Error(), "later executions") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A frozen file decides as the one that it is made of does at the prices. A guarantee stays in it, with the version of its format, and only at
// the prices that it is for.
func TestFreeze(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 24))
	p := plantedAny(rng, 3, 4, 8)
	rt, half := orttest.Open(t, 0), 0.5
	d, r := open(t, rt, p), randomRows(rng, p, 300)
	with, without := guaranteed(t, p, &half)
	other := policy.PriceChange{Lambda: &half, Without: []policy.Part{policy.Pair("e0/docs")}}
	for _, c := range []struct {
		m      *onnx.Model
		change policy.PriceChange
		format int
	}{{without, other, 1}, {with, policy.PriceChange{}, formatGuarantee}} {
		frozen, at, err := Freeze(c.m, c.change)
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := NewDecider(rt, frozen)
		if err != nil {
			t.Fatal(err)
		}
		defer fixed.Close()
		if i := fixed.Info(); i.Format != c.format || i.Prices != nil || i.Lambda != at.Lambda {
			t.Errorf("%+v", i)
		}
		want, err := d.NextAt(t.Context(), []*policy.Prices{at}, r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := fixed.Next(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Action, want.Action) || !slices.Equal(got.Cost, want.Cost) {
			t.Errorf("format %d: %v, want %v", c.format, got.Action, want.Action)
		}
		if _, _, err := Freeze(frozen, c.change); !errors.Is(err, policy.ErrFixedPrices) {
			t.Error(err)
		}
	}
	if _, _, err := Freeze(with, other); err == nil || !strings.Contains(err.Error(), "other prices") {
		t.Error(err)
	}
}
