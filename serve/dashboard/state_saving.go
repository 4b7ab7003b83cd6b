package dashboard

import (
	"slices"
)

// Saving is the cost of one fixed pair for all decisions minus that of the decisions, per decision, in the unit of the task
// loss.
type Saving struct {
	Against string `json:"against"` // the pair
	// Chosen says how the pair was chosen. "guard" is the best fixed pair of the training, as the guard names it. "window" is
	// the pair that would have been the cheapest in the window, among those that were available for at least half of the
	// decisions. That one is harder to beat, because it is known only afterwards.
	Chosen string `json:"chosen"`
	// By says where the costs come from: "expectations" of the policy, or "outcomes" with importance weights.
	By string `json:"by"`
	// Estimator is by what the mean follows from outcomes: "doubly robust", where the policy states expected costs, or "inverse
	// propensity weights". Empty: by expectations.
	Estimator string `json:"estimator,omitempty"`
	Mean
	Hits      int64   `json:"hits,omitempty"`      // outcomes of this pair
	Effective float64 `json:"effective,omitempty"` // effective number of them, because their weights differ
	Masked    int64   `json:"masked,omitempty"`    // decisions or outcomes that are left out because this pair was not available
	Uncovered int64   `json:"uncovered,omitempty"` // outcomes that are left out because this pair had a propensity of 0
}

// The values of By and Chosen.
const (
	byExpectations = "expectations"
	byOutcomes     = "outcomes"
	fromGuard      = "guard"
	fromWindow     = "window"
)

// minHits is the number of outcomes of the fixed pair from which importance weights are used. With fewer large weights, the
// interval of the mean is too narrow.
const minHits = 20

// savings returns the savings against the pair of the guard and against the best pair of the window, by expectations and by
// outcomes, as far as they are known.
func (v *version) savings(m *minute) []Saving {
	out := []Saving{}
	guard := -1
	if g := v.info.Guard; g != nil {
		guard = slices.Index(v.info.Actions.Names(), g.Fixed)
	}
	add := func(pair int, chosen, by string, of []moments) {
		s, effective := Saving{Against: v.info.Actions.Name(pair), Chosen: chosen, By: by, Masked: m.priced - of[pair].n}, float64(of[pair].n)
		if by == byOutcomes {
			effective = m.hits[pair].effective()
			if s.Estimator = "inverse propensity weights"; m.priced > 0 {
				s.Estimator = "doubly robust"
			}
			s.Hits, s.Effective, s.Uncovered = m.hits[pair].n, effective, m.uncovered[pair]
			s.Masked = m.compared - of[pair].n - s.Uncovered
		}
		if mean := meanBy(of[pair], effective); mean != nil {
			s.Mean = *mean
			out = append(out, s)
		}
	}
	for _, basis := range []struct {
		by string
		of []moments
	}{{byExpectations, m.costOf}, {byOutcomes, m.weighted}} {
		best := bestPair(basis.of, func(i int) bool { return basis.by == byExpectations || m.hits[i].n >= minHits && m.uncovered[i] == 0 })
		if best >= 0 {
			add(best, fromWindow, basis.by, basis.of)
		}
		if guard >= 0 && guard != best && (basis.by == byExpectations || m.hits[guard].n >= minHits) {
			add(guard, fromGuard, basis.by, basis.of)
		}
	}
	return out
}

// bestPair returns the pair with the smallest mean cost over the decisions for which it was available, -1 if there is none.
// Pairs that were available for less than half of the decisions are left out, so that a few requests with exclusions, or an
// open circuit breaker, do not change the result.
func bestPair(of []moments, usable func(i int) bool) int {
	var most int64
	for _, m := range of {
		most = max(most, m.n)
	}
	best := -1
	for i, m := range of {
		if m.n > 0 && 2*m.n >= most && usable(i) && (best < 0 || m.mean() < of[best].mean()) {
			best = i
		}
	}
	return best
}

// noun is what N counts.
func (s *Saving) noun() string {
	if s.By == byOutcomes {
		return "outcome"
	}
	return "decision"
}
