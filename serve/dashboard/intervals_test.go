package dashboard

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pipe/pipeline/decisionlog"
)

// explored is the state after n decisions of the planted world with outcomes.
func explored(n int, epsilon float64) PolicyState {
	c, _ := timed()
	info, r := planted(), rand.New(rand.NewPCG(21, 22))
	for i := range n {
		rec, loss := draw(r, info, strconv.Itoa(i), epsilon)
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		value := loss(rec.Action)
		c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value})
	}
	return c.State(1).Policies[0]
}

// TestFewRowsHaveNoInterval checks that an interval is shown from 100 rows on, and that rows with weights count for as many
// as would say as much without.
func TestFewRowsHaveNoInterval(t *testing.T) {
	for n, want := range map[int]bool{2: false, 99: false, 100: true} {
		p := explored(n, 0)
		for name, m := range map[string]*Mean{"measured cost": p.Costs.MeasuredCost, "residual": p.Costs.Residual, "saving": &p.Savings[0].Mean} {
			if m.N != int64(n) || (m.Low != nil) != want || (m.High != nil) != want {
				t.Errorf("%s of %d rows: %+v", name, n, m)
			}
		}
	}
	few, many := 0, 0
	for _, s := range append(explored(1000, 0.15).Savings, explored(5000, 0.3).Savings...) {
		if s.By != byOutcomes {
			continue
		}
		if s.Hits < minHits || s.Effective > float64(s.Hits)+1e-6 || (s.Low != nil) != (s.Effective >= 100) {
			t.Errorf("%+v", s)
		}
		if s.Low == nil {
			few++
		} else {
			many++
		}
	}
	if few == 0 || many == 0 {
		t.Errorf("%d savings without an interval, %d with one", few, many)
	}
}

// TestEffective compares with weights whose worth is known.
func TestEffective(t *testing.T) {
	var equal, one, none moments
	for range 50 {
		equal.add(7)
		one.add(1e-9)
	}
	one.add(1e9)
	near(t, "equal weights", equal.effective(), 50)
	near(t, "one large weight", one.effective(), 1)
	near(t, "no weight", none.effective(), 0)
}

// TestIntervalsAtAnyTime looks after every outcome, from the first interval on: in at most 5% of worlds one of them misses. A normal
// interval misses in far more.
func TestIntervalsAtAnyTime(t *testing.T) {
	const worlds, rows, truth = 300, 4000, 0.3
	for name, p := range map[string]float64{"all rows": 1, "weights of 5": 0.2} {
		missed, normal := 0, 0
		for seed := range worlds {
			r := rand.New(rand.NewPCG(uint64(seed), 3))
			var values, weights moments
			var miss, missNormal bool
			for range rows {
				v := 0.0
				if r.Float64() < p {
					weights.add(1 / p)
					if r.Float64() < truth {
						v = 1 / p
					}
				}
				values.add(v)
				if m := meanBy(values, weights.effective()); m.Low != nil {
					miss = miss || *m.Low > truth || *m.High < truth
					missNormal = missNormal || math.Abs(m.Mean-truth) > 1.96*values.error()
				}
			}
			if miss {
				missed++
			}
			if missNormal {
				normal++
			}
		}
		t.Logf("%s: %d of %d worlds missed, %d by normal intervals", name, missed, worlds, normal)
		if missed > worlds*5/100+3*4 || normal < worlds/5 {
			t.Errorf("%s: %d of %d worlds missed, %d by normal intervals", name, missed, worlds, normal)
		}
	}
}

// TestIntervalsSayTheirLook checks the sentences of the first screen and the captions.
func TestIntervalsSayTheirLook(t *testing.T) {
	p := explored(5000, 0.3)
	v := &view{state: &State{Minutes: 1, Traffic: TrafficState{TotalDecisions: 1}}, policy: &p}
	text := v.verdict().Text
	if !strings.Contains(text, "doubly robust over ") || !strings.Contains(text, " effective rows") {
		t.Errorf("%q", text)
	}
	if !strings.Contains(text, "[") || !strings.Contains(text, "at any time") {
		t.Errorf("%q", text)
	}
	for _, b := range v.costs().Blocks {
		if b.Table != nil && !strings.Contains(b.Table.Caption, "at any time") {
			t.Errorf("%q", b.Table.Caption)
		}
	}
	p = explored(90, 0)
	if text := v.verdict().Text; text != "" {
		t.Errorf("by 90 rows: %q", text)
	}
}
