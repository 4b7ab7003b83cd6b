package decision

import (
	"fmt"
	"reflect"
	"testing"

	"pipe/pipeline/decisionlog"
)

// TestSameDecisions checks that a decider without the later settings draws what it drew before there were SquareCB, the ledger
// and the stop without outcomes: the same pairs from the same draws of the seed, with the same propensities.
func TestSameDecisions(t *testing.T) {
	for _, e := range []Explore{{}, {Epsilon: 0.3}, {Softmax: 0.2}, {Epsilon: 0.5, MaxExtraCost: limit(0.02)}, {Softmax: 0.5, MaxExtraCost: limit(0.01)}} {
		s := DefaultSettings()
		s.Explore.Epsilon, s.Explore.Softmax, s.Explore.MaxExtraCost = e.Epsilon, e.Softmax, e.MaxExtraCost
		s.Seed = 7
		w, draws, explored := newWorld(t, s), source{seed: 7}, 0
		for n := range 100 {
			for _, name := range []string{"any", "fixed"} {
				q := Request{Policy: name, Inputs: features(numbers(uint64(n), 3)), ID: fmt.Sprint(n), NoExplore: n%10 == 9}
				res := w.ask(t, q)
				for i, r := range res.Records {
					want := expected(e, &draws, res, i)
					if r.Action != want.Action || !reflect.DeepEqual(r.Propensity, want.Propensity) || r.OwnPropensity != nil {
						t.Fatalf("%+v: decision %d: pair %d of %v, want %d of %v", e, n, r.Action, r.Propensity, want.Action, want.Propensity)
					}
					if r.Action != r.Greedy {
						explored++
					}
				}
			}
		}
		if (explored > 0) != !e.off() {
			t.Errorf("%+v: %d decisions explored", e, explored)
		}
	}
}

// expected is the choice on a row as it was made before.
func expected(e Explore, draws *source, res *Result, i int) decisionlog.Record {
	r, dec := res.Records[i], res.Decisions
	out := decisionlog.Record{Action: r.Greedy, Propensity: make([]float64, dec.Actions)}
	if res.request.NoExplore {
		e = Explore{}
	}
	before(e, out.Propensity, allowedPairs(r.Available, dec.Scores[i*dec.Actions:(i+1)*dec.Actions]), r.Greedy, r.ExpectedCost)
	if e.Epsilon > 0 && (r.ExpectedCost != nil || e.MaxExtraCost == nil) || e.Softmax > 0 && r.ExpectedCost != nil {
		out.Action = draw(out.Propensity, draws.draw())
	}
	return out
}
