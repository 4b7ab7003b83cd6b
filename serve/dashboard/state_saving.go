package dashboard

// Saving is how much less the decisions cost than one pair for all of them, per decision, in the unit of the task loss.
type Saving struct {
	Against string `json:"against"` // the pair
	// Chosen says how the pair was: "guard" for the best fixed pair of the training, as the guard names it, and "window" for
	// the pair that would have been the cheapest in the window, among those that were available in at least half of it. The
	// second comparison is the harder one: the pair is known only afterwards.
	Chosen string `json:"chosen"`
	// By says where the costs come from: "expectations" of the policy, or "outcomes" with importance weights.
	By string `json:"by"`
	Mean
	Hits      int64   `json:"hits,omitempty"`      // outcomes of this pair itself, which carry the weight
	Effective float64 `json:"effective,omitempty"` // as many of them, with equal weights, would say as much
	Masked    int64   `json:"masked,omitempty"`    // decisions, or outcomes, that are left out, because this pair was not available
	Uncovered int64   `json:"uncovered,omitempty"` // outcomes that are left out, because this pair had no chance of being chosen
}

// The origins of savings.
const (
	ByExpectations = "expectations"
	ByOutcomes     = "outcomes"
	FromGuard      = "guard"
	FromWindow     = "window"
)

// leastHits is the number of outcomes of the fixed pair itself below which importance weights say nothing: the interval
// of a mean with fewer large weights is too narrow.
const leastHits = 20

// savings are those against the pair of the guard and against the best pair of the window, by expectations and by
// outcomes. Empty: nothing is known.
func (v *version) savings(m *minute) []Saving {
	out := []Saving{}
	guard := -1
	if g := v.info.Guard; g != nil {
		for i := range v.info.Actions.Len() {
			if v.info.Actions.Name(i) == g.Fixed {
				guard = i
				break
			}
		}
	}
	add := func(pair int, chosen, by string, of []moments) {
		s, effective := Saving{Against: v.info.Actions.Name(pair), Chosen: chosen, By: by, Masked: m.priced - of[pair].n}, float64(of[pair].n)
		if by == ByOutcomes {
			effective = m.hits[pair].effective()
			s.Hits, s.Effective, s.Uncovered = m.hits[pair].n, effective, m.uncover[pair]
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
	}{{ByExpectations, m.costOf}, {ByOutcomes, m.weighted}} {
		best := bestPair(basis.of, func(i int) bool { return basis.by == ByExpectations || m.hits[i].n >= leastHits && m.uncover[i] == 0 })
		if best >= 0 {
			add(best, FromWindow, basis.by, basis.of)
		}
		if guard >= 0 && guard != best && (basis.by == ByExpectations || m.hits[guard].n >= leastHits) {
			add(guard, FromGuard, basis.by, basis.of)
		}
	}
	return out
}

// bestPair is the pair that would have cost least, on average over the decisions that had it, of those that at least half of
// the decisions had: a request without an expert, or a breaker for a while, does not change it. -1 if there is none.
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
	if s.By == ByOutcomes {
		return "outcome"
	}
	return "decision"
}
