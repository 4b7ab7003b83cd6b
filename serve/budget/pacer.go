package budget

import (
	"math"
	"slices"
	"sync"
)

// pacer keeps the dual price of one budget: what a unit of the budget costs beside its own price, so that the budget lasts
// until its period ends. The price is found again and again by the requests that were seen last, for the rest of the period,
// and moves by dual mirror descent between two solutions (Balseiro, Lu, Mirrokni: The Best of Many Worlds, 2023). It is safe
// for concurrent use.
type pacer struct {
	mu     sync.Mutex
	price  float64 // cost for each unit of the budget, at least 0
	last   []sample
	next   int     // of last, that is replaced
	since  int     // requests since the price was solved
	billed float64 // of the last requests together, decayed
	asked  float64 // what was expected of these
}

// sample is a request as the price sees it: of each pair that could answer, what it costs without this budget, and how much of
// the budget it is expected to use.
type sample struct{ costs, uses []float32 }

const (
	window     = 1024       // requests that the price is solved by
	solveEvery = 16         // requests
	decay      = 1 - 1./256 // of billed and asked, for each request
	doublings  = 64         // of the price where the search begins, at most
	steps      = 30         // of bisection
)

// now returns the price.
func (p *pacer) now() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.price
}

// see takes a request that was decided on: the costs of its pairs without this budget, their uses, and the use of the pair
// that was chosen. target is how much each request of the rest of the period may use. It keeps the slices.
func (p *pacer) see(costs, uses []float32, chosen, target float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) < window {
		p.last = append(p.last, sample{costs, uses})
	} else {
		p.last[p.next] = sample{costs, uses}
		p.next = (p.next + 1) % window
	}
	if p.since++; p.since >= solveEvery || len(p.last) < solveEvery {
		p.since = 0
		p.solve(target)
		return
	}
	if target > 0 { // a step of the descent; its length is a part of the price for a use of twice the target, and at most the price
		p.price = max(0, p.price*(1+(min(chosen*p.bias()/target, window)-1)/window))
	}
}

// pass takes a request from which nothing is learned about requests: the rest of the period has changed.
func (p *pacer) pass(target float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since++; p.since >= solveEvery && len(p.last) > 0 {
		p.since = 0
		p.solve(target)
	}
}

// bill takes what a call really used, and what was expected.
func (p *pacer) bill(billed, asked float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.billed, p.asked = p.billed*decay+billed, p.asked*decay+asked
}

// bias is how much more is billed than expected, as a factor.
func (p *pacer) bias() float64 {
	if !(p.asked > 0) || !(p.billed > 0) {
		return 1
	}
	return min(max(p.billed/p.asked, 0.1), 10)
}

// solve finds the smallest price at which the last requests would use at most the target on average, or the least that they can.
func (p *pacer) solve(target float64) {
	target = max(target/p.bias(), p.least()*(1+1e-9))
	if p.mean(0) <= target {
		p.price = 0
		return
	}
	low, high := 0.0, p.unit()
	for range doublings {
		if p.mean(high) <= target {
			break
		}
		low, high = high, high*2
	}
	for range steps {
		if middle := (low + high) / 2; p.mean(middle) <= target {
			high = middle
		} else {
			low = middle
		}
	}
	p.price = high
}

// least is what the last requests would use at the highest price, on average.
func (p *pacer) least() float64 {
	sum := 0.0
	for _, s := range p.last {
		sum += float64(slices.Min(s.uses))
	}
	return sum / float64(len(p.last))
}

// mean is what the last requests would use at a price, on average.
func (p *pacer) mean(price float64) float64 {
	sum := 0.0
	for i := range p.last {
		s := &p.last[i]
		best, least := 0, math.Inf(1)
		for a, cost := range s.costs {
			if c := float64(cost) + price*float64(s.uses[a]); c < least {
				best, least = a, c
			}
		}
		sum += float64(s.uses[best])
	}
	return sum / float64(len(p.last))
}

// unit is a price from which to search: the mean cost over the mean use.
func (p *pacer) unit() float64 {
	cost, use := 0.0, 0.0
	for _, s := range p.last {
		for a := range s.costs {
			cost += math.Abs(float64(s.costs[a]))
			use += float64(s.uses[a])
		}
	}
	if !(cost > 0) || !(use > 0) {
		return 1e-9
	}
	return cost / use
}
