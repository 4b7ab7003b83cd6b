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

	masked float64                             // share of the requests on which a pair is not available
	down   float64                             // chance that a pair fails and the next one answers: the cost counts for the pair that was drawn
	late   int                                 // outcomes that are waited for, of which one comes at random
	next   func(w *world, x float64) []float64 // the logger from the 300th unit on; nil: the same
	units  int                                 // that were drawn
	queue  [][]Row                             // that wait for their outcomes
}

// fails is the chance that pair a costs 1 instead of 0 for x.
func (w *world) fails(a int, x float64) float64 {
	alone := func(a int) float64 { return 0.5 + 0.4*math.Sin(3*x*w.tilt[a]+float64(a)) }
	return (1-w.down)*alone(a) + w.down*alone((a+1)%w.pairs)
}

// available reports whether pair a can be chosen for x. The first one always can.
func (w *world) available(a int, x float64) bool {
	_, part := math.Modf(17*x + 0.37*float64(a))
	return a == 0 || part >= w.masked
}

// allowed are the probabilities of a policy with those of pairs that are not available on the others.
func (w *world) allowed(x float64, of func(w *world, x float64) []float64) []float64 {
	p, sum := of(w, x), 0.0
	for a := range p {
		if !w.available(a, x) {
			p[a] = 0
		}
		sum += p[a]
	}
	if sum == 0 { // the only choice is not available
		p[0], sum = 1, 1
	}
	for a := range p {
		p[a] /= sum
	}
	return p
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

// squareCB explores by the gap to the best pair.
func squareCB(shift, gamma float64) func(w *world, x float64) []float64 {
	return func(w *world, x float64) []float64 {
		p, best, rest := make([]float64, w.pairs), w.best(x, shift), 1.0
		for a := range p {
			if a != best {
				p[a] = 1 / (float64(w.pairs) + gamma*(w.fails(a, x+shift)-w.fails(best, x+shift)))
				rest -= p[a]
			}
		}
		p[best] = rest
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
	logged := w.logged
	if w.next != nil && w.units >= 300 {
		logged = w.next
	}
	r := Row{Logged: w.allowed(x, logged), Target: w.allowed(x, w.target), Executed: pair}
	if w.base != nil {
		r.Baseline = w.allowed(x, w.base)
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

// unit is the next one whose outcomes come.
func (w *world) unit() []Row {
	for len(w.queue) <= w.late {
		w.queue = append(w.queue, w.drawUnit())
	}
	n := w.rng.IntN(len(w.queue))
	unit, last := w.queue[n], len(w.queue)-1
	w.queue[n], w.queue = w.queue[last], w.queue[:last]
	return unit
}

// drawUnit draws the rows of a user, or one row.
func (w *world) drawUnit() (rows []Row) {
	w.units++
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
		target, base := w.allowed(x, w.target), []float64(nil)
		if gain {
			base = w.allowed(x, w.base)
		}
		for a, m := range target {
			if gain {
				m = base[a] - m
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
	"squarecb, value":         {pairs: 6, logged: squareCB(0, 20), target: greedy(0.4, 0), quality: 0.5},
	"canary, value":           {pairs: 4, logged: mixed(greedy(0.5, 0.1), greedy(0, 0), 0.05), target: greedy(0, 0), quality: 0.7},
	"masks, value":            {pairs: 6, logged: greedy(0, 0.2), target: greedy(0.5, 0), quality: 0.5, masked: 0.3},
	"fallbacks, gain":         {pairs: 4, logged: mixed(greedy(0.5, 0), greedy(0, 0), 0.2), target: greedy(0, 0), base: greedy(0.5, 0), quality: 0.5, down: 0.3},
	"several loggers, value":  {pairs: 6, logged: greedy(0, 0.3), next: softmax(0.3, 0.2), target: greedy(0.5, 0), quality: 0.5},
	"late outcomes, value":    {pairs: 6, logged: greedy(0, 0.3), target: greedy(0.5, 0), quality: 0.5, late: 200},
}

func (w world) seeded(seed uint64) *world {
	w.rng = rand.New(rand.NewPCG(seed, 99))
	for range w.pairs {
		w.tilt = append(w.tilt, 0.5+2*w.rng.Float64())
	}
	return &w
}
