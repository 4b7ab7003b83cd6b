package decision

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func limit(v float64) *float64 { return &v }

// drawCase draws pairs of which some are masked, their costs, and settings of exploration.
func drawCase(t *rapid.T) (e Explore, allowed []bool, greedy int, cost []float32) {
	n := rapid.IntRange(1, 12).Draw(t, "pairs")
	allowed, cost = make([]bool, n), make([]float32, n)
	greedy = rapid.IntRange(0, n-1).Draw(t, "greedy")
	for i := range allowed {
		allowed[i] = i == greedy || rapid.Bool().Draw(t, "allowed")
		cost[i] = 1e30
		if allowed[i] {
			cost[i] = rapid.Float32Range(-2, 5).Draw(t, "cost")
		}
	}
	switch rapid.IntRange(0, 2).Draw(t, "way") {
	case 0:
		e.Softmax = rapid.Float64Range(1e-6, 100).Draw(t, "temperature")
	case 1:
		e.SquareCB, e.Gamma = true, rapid.Float64Range(0, 1e9).Draw(t, "gamma")
	default:
		e.Epsilon = rapid.Float64Range(0, 1).Draw(t, "epsilon")
	}
	if rapid.Bool().Draw(t, "limited") {
		e.MaxExtraCost = limit(rapid.Float64Range(0, 1).Draw(t, "limit"))
	}
	return e, allowed, greedy, cost
}

// TestPropensitiesLaw checks that probabilities sum to exactly 1, are 0 for masked pairs, keep the limit on the cost, and
// are whole numbers of the sampler's units.
func TestPropensitiesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, allowed, greedy, cost := drawCase(t)
		p := make([]float64, len(allowed))
		e.propensities(p, allowed, greedy, cost)
		sum, extra := 0.0, 0.0
		for i, v := range p {
			sum += v
			if v < 0 || v > 1 || v*units != math.Trunc(v*units) {
				t.Fatalf("pair %d has %v", i, v)
			}
			if v > 0 && !allowed[i] {
				t.Fatalf("masked pair %d has %v", i, v)
			}
			if v > 0 {
				extra += v * (float64(cost[i]) - float64(cost[greedy]))
			}
		}
		if sum != 1 {
			t.Fatalf("the sum is %v", sum)
		}
		if e.MaxExtraCost != nil && extra > *e.MaxExtraCost*(1+1e-12) {
			t.Fatalf("exploring costs %v, above %v", extra, *e.MaxExtraCost)
		}
	})
}

// TestDrawIsExact counts all outcomes of a sampler: the number of draws that give a pair is its propensity times units.
func TestDrawIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, allowed, greedy, cost := drawCase(t)
		p := make([]float64, len(allowed))
		e.propensities(p, allowed, greedy, cost)
		first := uint64(0)
		for i, v := range p {
			n := uint64(v * units)
			if n == 0 {
				continue
			}
			for _, u := range []uint64{first, first + n/2, first + n - 1} {
				if got := draw(p, u); got != i {
					t.Fatalf("draw %d is pair %d, not %d of %v", u, got, i, p)
				}
			}
			first += n
		}
		if first != units {
			t.Fatalf("%d draws, not %d", first, uint64(units))
		}
	})
}

// TestFrequencies compares what is drawn with the propensities, by Pearson's statistic, for both sources of randomness.
func TestFrequencies(t *testing.T) {
	allowed, cost := []bool{true, false, true, true, true}, []float32{0.2, 1e30, 0.5, 0.21, 0.9}
	for name, e := range map[string]Explore{
		"epsilon": {Epsilon: 0.3}, "softmax": {Softmax: 0.4}, "limited": {Epsilon: 0.9, MaxExtraCost: limit(0.05)},
		"softmax limited": {Softmax: 3, MaxExtraCost: limit(0.1)},
	} {
		for _, s := range []*source{{}, {seed: 7}} {
			p, count, n := make([]float64, 5), make([]float64, 5), 200000
			e.propensities(p, allowed, 0, cost)
			for range n {
				count[draw(p, s.draw())]++
			}
			statistic := 0.0
			for i, v := range p {
				if v == 0 {
					if count[i] > 0 {
						t.Errorf("%s: pair %d with probability 0 was drawn", name, i)
					}
					continue
				}
				statistic += (count[i] - v*float64(n)) * (count[i] - v*float64(n)) / (v * float64(n))
			}
			if statistic > 30 { // 3 degrees of freedom: a chance of 1.4e-6
				t.Errorf("%s, seed %d: statistic %.1f, probabilities %v, counts %v", name, s.seed, statistic, p, count)
			}
		}
	}
}

// TestKnownPropensities are computed by hand.
func TestKnownPropensities(t *testing.T) {
	for name, c := range map[string]struct {
		e    Explore
		cost []float32
		want []float64
	}{
		"off":                          {Explore{}, []float32{0, 1, 2}, []float64{1, 0, 0}},
		"epsilon":                      {Explore{Epsilon: 0.5}, []float32{0, 1, 2}, []float64{0.75, 0, 0.25}},
		"epsilon without costs":        {Explore{Epsilon: 0.5}, nil, []float64{0.75, 0, 0.25}},
		"softmax":                      {Explore{Softmax: 1}, []float32{0, 1, float32(math.Log(3))}, []float64{0.75, 0, 0.25}},
		"softmax without costs":        {Explore{Softmax: 1}, nil, []float64{1, 0, 0}},
		"limit":                        {Explore{Epsilon: 0.5, MaxExtraCost: limit(0.25)}, []float32{0, 1, 2}, []float64{0.875, 0, 0.125}},
		"limit that is kept":           {Explore{Epsilon: 0.5, MaxExtraCost: limit(0.5)}, []float32{0, 1, 2}, []float64{0.75, 0, 0.25}},
		"limit without costs":          {Explore{Epsilon: 0.5, MaxExtraCost: limit(9)}, nil, []float64{1, 0, 0}},
		"a cheaper pair":               {Explore{Epsilon: 0.5, MaxExtraCost: limit(0)}, []float32{2, 1, 0}, []float64{0.75, 0, 0.25}},
		"always":                       {Explore{Epsilon: 1}, []float32{0, 1, 2}, []float64{0.5, 0, 0.5}},
		"hot":                          {Explore{Softmax: 1e300}, []float32{0, 1, 2}, []float64{0.5, 0, 0.5}},
		"cold":                         {Explore{Softmax: 1e-300}, []float32{0, 1, 2}, []float64{1, 0, 0}},
		"squarecb":                     {Explore{SquareCB: true, Gamma: 6}, []float32{0, 1, 1}, []float64{0.875, 0, 0.125}},
		"squarecb, equal costs":        {Explore{SquareCB: true, Gamma: 6}, []float32{1, 0, 1}, []float64{0.5, 0, 0.5}},
		"squarecb, another is cheaper": {Explore{SquareCB: true, Gamma: 6}, []float32{1, 1, 0}, []float64{0.5, 0, 0.5}},
		"squarecb without costs":       {Explore{SquareCB: true, Gamma: 6}, nil, []float64{1, 0, 0}},
		"squarecb limited":             {Explore{SquareCB: true, Gamma: 6, MaxExtraCost: limit(0.0625)}, []float32{0, 1, 1}, []float64{0.9375, 0, 0.0625}},
		"ledger without costs":         {Explore{Epsilon: 0.5, Ledger: &Ledger{}}, nil, []float64{1, 0, 0}},
		"cold, greedy is not the best": {Explore{Softmax: 1e-300}, []float32{1, 1, 0}, []float64{0, 0, 1}},
	} {
		p := make([]float64, 3)
		c.e.propensities(p, []bool{true, false, true}, 0, c.cost)
		for i := range p {
			if math.Abs(p[i]-c.want[i]) > 1e-7 {
				t.Errorf("%s: %v, want %v", name, p, c.want)
				break
			}
		}
	}
}

// TestSquareCBLaw checks the formula: the probability of every pair besides the policy's choice is 1/(A + gamma gap), to a unit
// of the sampler, and 0 for masked pairs. The rest is the choice's.
func TestSquareCBLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, allowed, greedy, cost := drawCase(t)
		e = Explore{SquareCB: true, Gamma: e.Gamma}
		n := rapid.Int64Range(1, 1<<40).Draw(t, "decision")
		fixed := e.Gamma > 0
		if e = e.at(n); !fixed && e.Gamma != 10*math.Sqrt(float64(n)) {
			t.Fatalf("gamma %v of decision %d", e.Gamma, n)
		}
		p, pairs, least, rest := make([]float64, len(allowed)), 0.0, math.Inf(1), 1.0
		e.propensities(p, allowed, greedy, cost)
		for i, ok := range allowed {
			if ok {
				pairs, least = pairs+1, min(least, float64(cost[i]))
			}
		}
		for i, ok := range allowed {
			want := 0.0
			if ok {
				want = 1 / (pairs + e.Gamma*(float64(cost[i])-least))
			}
			if i == greedy {
				continue
			}
			rest -= p[i]
			if math.Abs(p[i]-want) > 1.0/units {
				t.Fatalf("pair %d has %v, want %v", i, p[i], want)
			}
		}
		if p[greedy] != rest || rest < 1/pairs-1e-12 {
			t.Fatalf("the policy's choice has %v, the others leave %v", p[greedy], rest)
		}
	})
}

// vowpalSquareCB are probabilities of Vowpal Wabbit 9.11.9 (--cb_explore_adf --squarecb --cb_type mtr --gamma_exponent 0) for
// --gamma_scale 5 and 10, with the same costs, which it has learned. It computes in float32.
var vowpalSquareCB = [][2][]float64{
	{{0.41911613941192627, 0.16324713826179504, 0.158250093460083, 0.1290835440158844, 0.13030306994915009}, {0.5392511487007141, 0.13790510594844818, 0.13092048466205597, 0.09529398381710052, 0.09662926197052002}},
	{{0.5310384035110474, 0.2489471286535263, 0.22001446783542633}, {0.6371490359306335, 0.19865572452545166, 0.1641952246427536}},
	{{0.6082000732421875, 0.19271326065063477, 0.19908666610717773}, {0.7225369811058044, 0.13553601503372192, 0.14192698895931244}},
	{{0.7570481300354004, 0.242951899766922}, {0.8395400047302246, 0.16046002507209778}},
	{{0.4899211525917053, 0.141146719455719, 0.14218099415302277, 0.11330993473529816, 0.11344122141599655}, {0.6224275827407837, 0.10905538499355316, 0.11029519885778427, 0.07904698699712753, 0.07917483896017075}},
}

// TestVowpalWabbitSquareCB takes the costs from its probabilities for one gamma, and compares those for another gamma.
func TestVowpalWabbitSquareCB(t *testing.T) {
	for n, v := range vowpalSquareCB {
		cost, allowed, p := make([]float32, len(v[0])), make([]bool, len(v[0])), make([]float64, len(v[0]))
		for i, at5 := range v[0] {
			if allowed[i] = true; i > 0 { // the first one is the best of all of them
				cost[i] = float32((1/at5 - float64(len(p))) / 5)
			}
		}
		for k, gamma := range []float64{5, 10} {
			Explore{SquareCB: true, Gamma: gamma}.propensities(p, allowed, 0, cost)
			for i, want := range v[k] {
				if math.Abs(p[i]-want) > 2e-7 {
					t.Errorf("row %d, gamma %g: %v, want %v", n, gamma, p, v[k])
					break
				}
			}
		}
	}
}

// before are the propensities as they were before there was SquareCB.
func before(e Explore, dst []float64, allowed []bool, greedy int, cost []float32) {
	clear(dst)
	dst[greedy] = 1
	if e.Epsilon == 0 && e.Softmax == 0 || cost == nil && (e.Softmax > 0 || e.MaxExtraCost != nil) {
		return
	}
	least, sum, n := math.Inf(1), 0.0, 0
	for i, ok := range allowed {
		if ok {
			n++
		}
		if ok && cost != nil {
			least = min(least, float64(cost[i]))
		}
	}
	for i, ok := range allowed {
		dst[i] = 0
		if ok && e.Softmax > 0 {
			dst[i] = math.Exp((least - float64(cost[i])) / e.Softmax)
			sum += dst[i]
		} else if ok {
			dst[i] = e.Epsilon / float64(n)
		}
	}
	for i := range dst {
		if e.Softmax > 0 {
			dst[i] /= sum
		}
	}
	shrink, rest := e.shrink(dst, greedy, cost), int64(units)
	for i, p := range dst {
		if i != greedy {
			k := max(0, min(int64(math.Floor(p*shrink*units)), rest))
			rest -= k
			dst[i] = float64(k) / units
		}
	}
	dst[greedy] = float64(rest) / units
}

// TestSameAsBefore checks that epsilon and softmax give the bits that they gave before.
func TestSameAsBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, allowed, greedy, cost := drawCase(t)
		if e.SquareCB {
			e = Explore{Epsilon: 0.1}
		}
		p, want := make([]float64, len(allowed)), make([]float64, len(allowed))
		e.propensities(p, allowed, greedy, cost)
		before(e, want, allowed, greedy, cost)
		for i := range p {
			if math.Float64bits(p[i]) != math.Float64bits(want[i]) {
				t.Fatalf("%v, before %v", p, want)
			}
		}
	})
}

// TestShare checks that the share of users is the configured one, and the same in every run.
func TestShare(t *testing.T) {
	r, below, n := rand.New(rand.NewPCG(1, 1)), 0, 20000
	for range n {
		if share("canary", string(rune('a'+r.IntN(26)))+string(rune(r.Int32N(60000)))) < 0.05 {
			below++
		}
	}
	if got := float64(below) / float64(n); got < 0.04 || got > 0.06 {
		t.Errorf("a share of 0.05 is %v", got)
	}
	if got := share("canary", "user\x00anna"); got != share("canary", "user\x00anna") || math.Abs(got-knownShare) > 1e-12 {
		t.Errorf("the share of anna is %v, in earlier releases %v", got, knownShare)
	}
	if share("a", "bc") == share("ab", "c") {
		t.Error("the border between the texts does not count")
	}
}

// knownShare is the place of one user, which must not change between releases: a user would get another policy.
const knownShare = 0.9345390342846142
