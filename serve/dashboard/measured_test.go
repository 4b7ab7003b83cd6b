package dashboard

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// rightly is the state after decisions whose expectations are right, with a measured fee of 0.1 to 0.3 for every pair, which is
// in the expectations and not in the outcomes. fee 0: there are none.
func rightly(r *rand.Rand, info *policy.Info, n int, fee float64) PolicyState {
	c, _ := timed()
	for i := range n {
		rec, loss := draw(r, info, strconv.Itoa(i), 0.3)
		for k := range 3 {
			more := float32(fee*(0.5+rec.Propensity[k]) - 0.05*float64(k)) // draw is biased by that
			rec.ExpectedLoss[k], rec.ExpectedCost[k] = rec.ExpectedLoss[k]+more, rec.ExpectedCost[k]+more
		}
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		value := loss(rec.Action)
		c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value})
	}
	return c.State(1).Policies[0]
}

// TestDifferenceCoversNothing is the law of measured minus expected cost: where the expectations are right, its interval holds 0
// in at least 95% of the worlds. It is wider than a normal one, by half of that.
func TestDifferenceCoversNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const worlds = 400
	held, within, info := 0, 0, planted()
	for world := range worlds {
		d := rightly(rand.New(rand.NewPCG(51, uint64(world))), info, 400, 0).Costs.Residual
		if *d.Low <= 0 && *d.High >= 0 {
			held++
		}
		if middle := 1 / 1.5; math.Abs(d.Mean) < middle*(*d.High-*d.Low)/2 {
			within++
		}
	}
	if held < worlds*95/100 || within < worlds*93/100 { // of the second 95%, within two standard errors
		t.Errorf("%d of %d intervals hold 0, %d in their middle", held, worlds, within)
	}
}

// TestMeasuredFeesAreNotCompared checks that a policy whose expectations include measured fees is not compared with outcomes
// that have none.
func TestMeasuredFeesAreNotCompared(t *testing.T) {
	info := planted()
	info.Info = map[string]string{"measured_fees": "{}"}
	p := rightly(rand.New(rand.NewPCG(61, 62)), info, 2000, 0.2)
	c := p.Costs
	if !c.MeasuredFees || c.Residual != nil || c.MeasuredCost != nil || c.ExpectedCost == nil || c.MeasuredLoss == nil || c.Outcomes != 2000 {
		t.Errorf("%+v", c)
	}
	if len(p.Savings) == 0 {
		t.Error("expectations are compared with each other")
	}
	for _, s := range p.Savings {
		if s.By != byExpectations {
			t.Errorf("%+v", s)
		}
	}
	v := &view{state: &State{Minutes: 1, Traffic: TrafficState{TotalDecisions: 1}}, policy: &p}
	if list := strings.Join(v.outcomeNotes(), " "); !strings.Contains(list, "are not known") {
		t.Error(list)
	}
	p = rightly(rand.New(rand.NewPCG(61, 62)), planted(), 2000, 0)
	if list := strings.Join(v.outcomeNotes(), " "); strings.Contains(list, "not known") || p.Costs.Residual == nil {
		t.Errorf("without measured fees: %q", list)
	}
}
