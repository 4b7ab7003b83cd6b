package dashboard

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pipe/pipeline/decisionlog"
)

// without is a decision of the planted world, of which one pair was not available.
func without(r *rand.Rand, rec *decisionlog.Record, pair int) {
	rec.Available[pair], rec.ExpectedLoss[pair], rec.ExpectedCost[pair] = false, 1e30, 1e30
	rec.Greedy = -1
	for i, p := range rec.Propensity {
		if rec.Propensity[i] = 0; p > 0 && i != pair {
			rec.Propensity[i] = 0.5
			if rec.Greedy < 0 || rec.ExpectedCost[i] < rec.ExpectedCost[rec.Greedy] {
				rec.Greedy = i
			}
		}
	}
	for rec.Action = pair; rec.Action == pair; {
		rec.Action = r.IntN(3)
	}
}

// masked is the state after 2,000 decisions with outcomes, of which some did not have the pair.
func masked(pair int, lacks func(i int) bool) PolicyState {
	c, _ := timed()
	info, r := planted(), rand.New(rand.NewPCG(31, 32))
	for i := range 2000 {
		rec, loss := draw(r, info, strconv.Itoa(i), 0.4)
		if lacks(i) {
			without(r, rec, pair)
		}
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		value := loss(rec.Action)
		c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value})
	}
	return c.State(1).Policies[0]
}

// bestOf is the saving against the best pair of the window.
func bestOf(p PolicyState, by string) Saving {
	for _, s := range p.Savings {
		if s.By == by && s.Chosen == fromWindow {
			return s
		}
	}
	return Saving{}
}

// TestBestPairStays leaves the best pair out of one decision, and of a stretch of them as a breaker does: it stays the best,
// and the page says how many decisions are left out. Where most decisions lack it, it is none for all decisions.
func TestBestPairStays(t *testing.T) {
	info := planted()
	for _, by := range []string{byExpectations, byOutcomes} {
		all := bestOf(masked(0, func(int) bool { return false }), by)
		pair := -1
		for i := range 3 {
			if info.Actions.Name(i) == all.Against {
				pair = i
			}
		}
		if pair < 0 || all.Masked != 0 || all.N != 2000 {
			t.Fatalf("%+v", all)
		}
		for name, c := range map[string]struct {
			left  int64
			lacks func(i int) bool
		}{"one": {1, func(i int) bool { return i == 700 }}, "a breaker": {800, func(i int) bool { return i >= 600 && i < 1400 }}} {
			s := bestOf(masked(pair, c.lacks), by)
			if s.Against != all.Against || s.Masked != c.left || s.N != 2000-c.left || s.Uncovered != 0 {
				t.Errorf("%s, by %s: %+v, before %+v", name, by, s, all)
			}
		}
		if s := bestOf(masked(pair, func(i int) bool { return i >= 900 }), by); s.Against == all.Against || s.Against == "" || s.Masked != 0 {
			t.Errorf("most decisions lack %s: %+v", all.Against, s)
		}
	}
}

// TestMaskIsSaid checks the sentence of the first screen and the table.
func TestMaskIsSaid(t *testing.T) {
	for lacks, want := range map[int]bool{700: true, -1: false} {
		p := masked(0, func(i int) bool { return i == lacks })
		s := bestOf(p, byOutcomes)
		for pair := range 3 {
			if planted().Actions.Name(pair) == s.Against {
				p = masked(pair, func(i int) bool { return i == lacks })
			}
		}
		v := &view{state: &State{Minutes: 1, Traffic: TrafficState{TotalDecisions: 1}}, policy: &p}
		if got := strings.Contains(v.verdict().Text, "where it was available (1,999 of 2,000 outcomes)"); got != want {
			t.Errorf("%q", v.verdict().Text)
		}
		if got := strings.Contains(fmt.Sprint(*v.saving()[0].Table), "1 left out, for which it was not available"); got != want {
			t.Errorf("%v", *v.saving()[0].Table)
		}
	}
}

// What no policy decided on is counted, and its fee and its outcome say nothing about the policy.
func TestUndecidedIsNotCompared(t *testing.T) {
	c, _ := timed()
	info, r := planted(), rand.New(rand.NewPCG(7, 7))
	rec, _ := draw(r, info, "a", 0)
	rec.Source, rec.Features, rec.ExpectedLoss, rec.ExpectedCost = decisionlog.SourceFixed, nil, nil, nil
	other, _ := draw(r, info, "b", 0)
	rec.Fee, rec.FeeKnown, other.Fee, other.FeeKnown = 5, true, 1, true
	c.Add("p", "d", info, []*decisionlog.Record{rec, other})
	loss := 1.0
	for _, id := range []string{"a", "b"} {
		c.Outcome(decisionlog.Outcome{ID: id, Loss: &loss})
	}
	if m := c.versions[versionKey("p", "d")].minutes.at(0); m.decisions != 2 || m.known != 1 || m.compared != 1 || m.fee.n != 1 || m.fee.sum != 1 {
		t.Errorf("%+v", m)
	}
}
