package anytime

import (
	"math"
	"math/rand/v2"
)

// world draws logged decisions of a law with known costs: requests with a number from 0 to 1, of which each pair's chance to
// fail depends.
type world struct {
	rng     *rand.Rand
	pairs   int
	logged  func(w *world, x float64) []float64
	target  func(w *world, x float64) []float64
	base    func(w *world, x float64) []float64
	quality float64 // of the estimates: 1 is the true chance, 0 a constant
	perUser int     // rows of a user, who keeps the pair that was drawn first; 1: rows are drawn anew
	tilt    []float64
}

// fails is the chance that pair a costs 1 instead of 0 for x.
func (w *world) fails(a int, x float64) float64 {
	return 0.5 + 0.4*math.Sin(3*x*w.tilt[a]+float64(a))
}

// best is the pair with the least chance under a view of the world that is wrong by a shift.
func (w *world) best(x, shift float64) int {
	best := 0
	for a := range w.pairs {
		if w.fails(a, x+shift) < w.fails(best, x+shift) {
			best = a
		}
	}
	return best
}

// greedy takes the best pair, with a share of epsilon for all pairs.
func greedy(shift, epsilon float64) func(w *world, x float64) []float64 {
	return func(w *world, x float64) []float64 {
		p := make([]float64, w.pairs)
		for a := range p {
			p[a] = epsilon / float64(w.pairs)
		}
		p[w.best(x, shift)] += 1 - epsilon
		return p
	}
}

// softmax prefers pairs that fail less, at a temperature.
func softmax(shift, temperature float64) func(w *world, x float64) []float64 {
	return func(w *world, x float64) []float64 {
		p, sum := make([]float64, w.pairs), 0.0
		for a := range p {
			p[a] = math.Exp(-w.fails(a, x+shift) / temperature)
			sum += p[a]
		}
		for a := range p {
			p[a] /= sum
		}
		return p
	}
}

// mixed is a system with a canary of a share.
func mixed(live, canary func(w *world, x float64) []float64, share float64) func(w *world, x float64) []float64 {
	return func(w *world, x float64) []float64 {
		p, q := live(w, x), canary(w, x)
		for a := range p {
			p[a] = (1-share)*p[a] + share*q[a]
		}
		return p
	}
}

// row draws a decision about x; pair is the one that a user keeps, or -1.
func (w *world) row(x float64, pair int) Row {
	r := Row{Logged: w.logged(w, x), Target: w.target(w, x), Executed: pair}
	if w.base != nil {
		r.Baseline = w.base(w, x)
	}
	if pair < 0 {
		r.Executed = draw(w.rng, r.Logged)
	}
	if w.rng.Float64() < w.fails(r.Executed, x) {
		r.Cost = 1
	}
	for a := range w.pairs {
		r.Estimates = append(r.Estimates, w.quality*w.fails(a, x)+(1-w.quality)*0.5)
	}
	return r
}

// unit draws the rows of a user, or one row.
func (w *world) unit() (rows []Row) {
	x, pair := w.rng.Float64(), -1
	for range max(1, w.perUser) {
		r := w.row(x, pair)
		if w.perUser > 1 {
			pair = r.Executed
		}
		rows = append(rows, r)
	}
	return rows
}

// truth is the expected cost of the target, or its gain, by a fine grid.
func (w *world) truth(gain bool) (sum float64) {
	const points = 4000
	for i := range points {
		x := (float64(i) + 0.5) / points
		target := w.target(w, x)
		for a, m := range target {
			if gain {
				m = w.base(w, x)[a] - m
			}
			sum += m * w.fails(a, x) / points
		}
	}
	return sum
}

func draw(rng *rand.Rand, p []float64) int {
	u := rng.Float64()
	for a, v := range p {
		if u -= v; u < 0 {
			return a
		}
	}
	return len(p) - 1
}

// kinds are the worlds of the laws.
var kinds = map[string]world{
	"epsilon, value":          {pairs: 12, logged: greedy(0, 0.15), target: greedy(0.5, 0), quality: 0.7},
	"epsilon, flat estimates": {pairs: 4, logged: greedy(0, 0.1), target: greedy(0.5, 0), quality: 0},
	"softmax, gain":           {pairs: 6, logged: softmax(0, 0.15), target: greedy(0.4, 0), base: softmax(0, 0.15), quality: 0.5},
	"share, gain":             {pairs: 12, logged: mixed(greedy(0.5, 0), greedy(0, 0), 0.1), target: greedy(0, 0), base: greedy(0.5, 0), quality: 0.7},
	"users keep pairs, gain":  {pairs: 4, logged: mixed(greedy(0.5, 0), greedy(0, 0), 0.3), target: greedy(0, 0), base: greedy(0.5, 0), quality: 0.5, perUser: 4},
}

func (w world) seeded(seed uint64) *world {
	w.rng = rand.New(rand.NewPCG(seed, 99))
	for range w.pairs {
		w.tilt = append(w.tilt, 0.5+2*w.rng.Float64())
	}
	return &w
}
