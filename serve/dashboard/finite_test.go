package dashboard

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pipe/pipeline/decisionlog"
)

// Figures are numbers whatever the fees, losses and expectations are.
func TestFiguresStayFinite(t *testing.T) {
	c, _ := timed()
	info, r := planted(), rand.New(rand.NewPCG(2, 1))
	odd := []float64{0, 1, -1, 1e30, 3e38, -3e38, 1e200, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.NaN()}
	any := func() float64 { return odd[r.IntN(len(odd))] }
	for i := range 3000 {
		rec, _ := draw(r, info, strconv.Itoa(i), 0.3)
		rec.Lambda, rec.Fee, rec.FeeKnown = any(), any(), true
		for _, fees := range [][]float64{rec.ExpertFees, rec.AdviceFees} {
			fees[r.IntN(len(fees))] = any()
		}
		rec.ExpectedCost[r.IntN(3)] = float32(any())
		if i%3 == 0 {
			rec.PairFees = []float64{any(), any(), any(), any()}
		}
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		c.Shadow(rec, decisionlog.Shadow{Policy: "s", ExpectedCost: any()}, true)
		loss := any()
		c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &loss})
	}
	state := c.State(15)
	if _, err := json.Marshal(state); err != nil {
		t.Error(err)
	}
	costs := state.Policies[0].Costs
	if costs.MeasuredCost == nil || costs.MeasuredCost.N == 0 || costs.Fee == nil || costs.Outcomes != 3000 {
		t.Errorf("%+v", costs)
	}
}

// A part that is no JSON is left out by name, and the others are there.
func TestPartsFailAlone(t *testing.T) {
	lag := math.NaN()
	w := newWorld(t, func(s *Sources) {
		s.Log = func() *LogState { return &LogState{Lag: lag} }
		s.Monitor = func() []MonitorState { return []MonitorState{{Policy: "any", Verdict: "ok"}} }
	})
	w.decide(t, "any", 10)
	for _, fails := range []bool{true, false} {
		var got struct {
			State
			Log     *LogState
			Monitor []MonitorState
			Failed  map[string]string
		}
		if err := json.Unmarshal([]byte(w.get(t, "/page/state", 200)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Policies[0].Decisions != 10 || got.Traffic.Decisions != 10 || got.Monitor[0].Verdict != "ok" || (got.Log == nil) != fails {
			t.Errorf("%+v", got)
		}
		if (len(got.Failed) == 1) != fails || fails && !strings.Contains(got.Failed["log"], "NaN") {
			t.Errorf("failed %v", got.Failed)
		}
		lag = 1
	}
}
