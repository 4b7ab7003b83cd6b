package dashboard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// planted is a policy with two experts and two pieces of advice, of which large/search does not exist.
func planted() *policy.Info {
	return &policy.Info{
		Lambda: 2, Dim: 3, Fixed: -1,
		Actions: &costs.Actions{
			Experts:     []costs.Expert{{Name: "small", Fee: 0.01}, {Name: "large", Fee: 0.2}},
			Advice:      []costs.Advice{{Name: "none"}, {Name: "search", Fee: 0.05}},
			Unavailable: []costs.Pair{{Expert: 1, Advice: 1}},
		},
		Guard: &policy.Guard{Fixed: "large/none", Rows: 100, Gain: 0.1, LowerBound: 0.05, Confidence: 0.95},
	}
}

// timed is a collector whose clock stands still until it is moved.
func timed() (*Collector, *time.Duration) {
	c, now := NewCollector(DefaultSettings()), new(time.Duration)
	c.clock = func() time.Duration { return *now }
	return c, now
}

// draw is a decision on a world in which the expected costs are the truth plus noise that the policy does not know of:
// bias shifts what it expects. Every second decision has other prices.
func draw(r *rand.Rand, info *policy.Info, id string, epsilon float64) (*decisionlog.Record, func(pair int) float64) {
	hard := r.Float64()
	truth := []float64{0.1 + 0.8*hard, 0.3, 0.2 + 0.1*hard, math.NaN()}
	rec := &decisionlog.Record{
		ID: id, Policy: "p", Digest: "d", Lambda: info.Lambda, ExpertFees: []float64{0.01, 0.2}, AdviceFees: []float64{0, 0.05},
		Available: info.Actions.Mask(), Features: []float32{float32(hard), 1, 2}, Executed: -1, Keep: 1,
		Propensity: make([]float64, 4), Stages: decisionlog.Stages{Decide: 100 + int64(r.IntN(900))},
	}
	rec.ExpectedLoss, rec.ExpectedCost = make([]float32, 4), make([]float32, 4)
	for i := range 4 {
		fee := rec.ExpertFees[i/2] + rec.Lambda*rec.AdviceFees[i%2]
		rec.ExpectedLoss[i] = float32(truth[i] + 0.05*float64(i)) // biased
		rec.ExpectedCost[i] = rec.ExpectedLoss[i] + float32(fee)
		if !rec.Available[i] {
			rec.ExpectedLoss[i], rec.ExpectedCost[i] = 1e30, 1e30
		} else if rec.ExpectedCost[i] < rec.ExpectedCost[rec.Greedy] {
			rec.Greedy = i
		}
	}
	rec.Action = rec.Greedy
	for i := range 3 {
		rec.Propensity[i] = epsilon / 3
	}
	rec.Propensity[rec.Greedy] += 1 - epsilon
	if r.Float64() < epsilon {
		rec.Action = r.IntN(3)
	}
	return rec, func(pair int) float64 { // a loss of 0 or 1
		if r.Float64() < truth[pair] {
			return 1
		}
		return 0
	}
}

// The figures are those of the records, computed again in the plainest way.
func TestFigures(t *testing.T) {
	c, now := timed()
	info, r := planted(), rand.New(rand.NewPCG(1, 1))
	chosen, residual, cost := make([]int64, 4), 0.0, 0.0
	var explored, known int64
	const n = 5000
	for i := range n {
		*now = time.Duration(i) * 100 * time.Millisecond // 500 s
		rec, loss := draw(r, info, strconv.Itoa(i), 0.3)
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		c.Request("POST /page/try", 500, 0)
		c.Request("decide", []int{200, 200, 200, 429, 500}[i%5], time.Millisecond)
		chosen[rec.Action]++
		cost += float64(rec.ExpectedCost[rec.Action])
		if rec.Action != rec.Greedy {
			explored++
		}
		if i%2 == 0 {
			value := loss(rec.Action)
			c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value})
			c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value}) // not waiting any more
			residual += value + info.Actions.Experts[rec.Action/2].Fee + info.Lambda*info.Actions.Advice[rec.Action%2].Fee - float64(rec.ExpectedCost[rec.Action])
			known++
		}
	}
	s := c.State(15)
	if s.Traffic.Requests != n || s.Traffic.Refused != n/5 || s.Traffic.Failed != n/5 || s.Traffic.Decisions != n || s.Traffic.TotalDecisions != n {
		t.Errorf("traffic %+v", s.Traffic)
	}
	if v := s.Traffic.RequestsPerSecond; math.Abs(v-10) > 0.3 {
		t.Errorf("%g requests/s, want 10", v)
	}
	bars := int64(0)
	for _, b := range s.Traffic.Bars {
		bars += b.Requests
	}
	if bars != n || len(s.Traffic.Bars) != 90 {
		t.Errorf("%d bars with %d requests", len(s.Traffic.Bars), bars)
	}
	p := s.Policies[0]
	if len(s.Policies) != 1 || p.Decisions != n || p.Explored != explored || len(p.Pairs) != 3 || p.OtherPrices != 0 {
		t.Fatalf("%+v", p)
	}
	for i, pair := range p.Pairs {
		if pair.Chosen != chosen[i] || pair.Pair != []string{"small/none", "small/search", "large/none"}[i] {
			t.Errorf("%+v, want %d", pair, chosen[i])
		}
	}
	near(t, "expected cost", *p.Costs.ExpectedCost, cost/n)
	near(t, "residual", p.Costs.Residual.Mean, residual/float64(known))
	if p.Costs.Outcomes != known || s.Unmatched != known {
		t.Errorf("%d outcomes, %d unmatched, want %d of each", p.Costs.Outcomes, s.Unmatched, known)
	}
	if st := p.Stages[0]; len(p.Stages) != 1 || st.Stage != "decide" || math.Abs(st.P50-550e-6) > 40e-6 || math.Abs(st.P99-991e-6) > 60e-6 {
		t.Errorf("stages %+v", p.Stages)
	}
	if s = c.State(1); s.Policies[0].Decisions > 600 || s.Policies[0].Decisions < 200 {
		t.Errorf("%d decisions in the last minute", s.Policies[0].Decisions)
	}
	*now += 2 * time.Hour
	if s = c.State(60); s.Policies[0].Decisions != 0 || s.Traffic.Requests != 0 || s.Traffic.TotalRequests != n {
		t.Errorf("after two hours %+v", s.Traffic)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// The intervals of the saving by outcomes hold the true saving, although the expectations are biased, in at least 90% of
// the worlds; those by expectations hold what the expectations say.
func TestSavingOfAPlantedWorld(t *testing.T) {
	info := planted()
	const worlds, n, epsilon = 60, 2000, 0.3
	held, expected := 0, 0
	for world := range worlds {
		r := rand.New(rand.NewPCG(7, uint64(world)))
		c, _ := timed()
		truth, claimed := 0.0, 0.0
		for i := range n {
			rec, loss := draw(r, info, strconv.Itoa(i), epsilon)
			c.Add("p", "d", info, []*decisionlog.Record{rec})
			value := loss(rec.Action)
			c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value})
			hard := float64(rec.Features[0])
			costs := []float64{0.1 + 0.8*hard + 0.01, 0.3 + 0.11, 0.2 + 0.1*hard + 0.2}
			truth += costs[2] - costs[rec.Action]
			claimed += float64(rec.ExpectedCost[2] - rec.ExpectedCost[rec.Action])
		}
		for _, s := range c.State(1).Policies[0].Savings {
			if s.Against != "large/none" {
				continue
			}
			if s.By == byOutcomes && *s.Low <= truth/n && truth/n <= *s.High {
				held++
			}
			if s.By == byExpectations && math.Abs(s.Mean.Mean-claimed/n) < 1e-6 {
				expected++
			}
		}
	}
	if held < worlds*9/10 || expected != worlds {
		t.Errorf("%d of %d intervals hold the truth; %d of %d expectations are right", held, worlds, expected, worlds)
	}
}

// Without exploration nothing can be said by outcomes about pairs that were not chosen.
func TestNoSavingByOutcomesWithoutExploration(t *testing.T) {
	c, _ := timed()
	info, r := planted(), rand.New(rand.NewPCG(1, 2))
	for i := range 500 {
		rec, loss := draw(r, info, strconv.Itoa(i), 0)
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		value := loss(rec.Action)
		c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value})
	}
	for _, s := range c.State(1).Policies[0].Savings {
		if s.By == byOutcomes && s.Uncovered == 0 {
			t.Errorf("saving %+v", s)
		}
	}
}

// Fallbacks, shadows, errors and outcomes of executed pairs.
func TestFallbacksAndShadows(t *testing.T) {
	c, _ := timed()
	info, r := planted(), rand.New(rand.NewPCG(1, 3))
	for i := range 100 {
		rec, _ := draw(r, info, strconv.Itoa(i), 0)
		rec.Greedy, rec.Action, rec.Executed = 2, 2, 2
		if i < 10 {
			rec.Executed = 0
			rec.Attempts = []decisionlog.Attempt{{Action: 2, Status: 503, Error: "overloaded"}, {Action: 0, Status: 200}}
		} else if i < 15 {
			rec.Executed, rec.Error = -1, "no expert answered"
			rec.Attempts = []decisionlog.Attempt{{Action: 2, Error: "timeout"}}
		}
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		c.Shadow(rec, decisionlog.Shadow{Policy: "new", Digest: "e", Action: 1, ExpectedCost: math.NaN()}, i%2 == 1)
		one := 1.0
		c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &one})
	}
	p := c.State(5).Policies[0]
	if p.FellBack != 10 || p.Failed != 5 || p.Decisions != 95 || p.Costs.Unused != 10 || p.Pairs[0].Executed != 10 || p.Pairs[0].Outcomes != 10 {
		t.Errorf("%+v", p)
	}
	want := []FailureState{{"large", "status 503", 10}, {"large", "no answer", 5}}
	if len(p.Failures) != 2 || p.Failures[0] != want[0] || p.Failures[1] != want[1] {
		t.Errorf("failures %+v", p.Failures)
	}
	if s := p.Shadows; len(s) != 1 || s[0].Shadow != "new@e" || s[0].N != 100 || s[0].Agreement != 0.5 || s[0].Cheaper != nil {
		t.Errorf("shadows %+v", s)
	}
}

// Memory is bounded: by the decisions that wait, the rows, and the versions.
func TestBounds(t *testing.T) {
	c, now := timed()
	c.settings = Settings{Outcomes: 100, Sample: 8, Versions: 3}
	info, r := planted(), rand.New(rand.NewPCG(1, 4))
	for i := range 2000 {
		*now += 10 * time.Millisecond
		rec, _ := draw(r, info, strconv.Itoa(i), 0.1)
		c.Add("p", strconv.Itoa(i/200), info, []*decisionlog.Record{rec})
	}
	if len(c.versions) != 3 || len(c.byID) > 300 {
		t.Errorf("%d versions, %d decisions wait", len(c.versions), len(c.byID))
	}
	for id, w := range c.byID {
		if w.of.pending.ids[w.slot] != id {
			t.Fatalf("%q is not in its slot", id)
		}
	}
	for _, v := range c.versions {
		waiting := 0
		for _, id := range v.pending.ids {
			if id != "" {
				waiting++
			}
		}
		if waiting != v.pending.waiting || waiting != 100 {
			t.Errorf("%d decisions wait, %d are counted", waiting, v.pending.waiting)
		}
		if n := v.sample.n(); n != 8 {
			t.Errorf("%d rows", n)
		}
		if v.pending.share > math.MaxUint64/2+1 {
			t.Errorf("at 100 decisions/s, 100 slots: share %x", v.pending.share)
		}
	}
}

// A kept share depends on ids alone, and joins as many outcomes as it says.
func TestKeptShare(t *testing.T) {
	c, now := timed()
	c.settings.Outcomes = 200
	info, r := planted(), rand.New(rand.NewPCG(1, 5))
	joined := 0
	for i := range 40000 {
		*now += 100 * time.Millisecond
		rec, _ := draw(r, info, fmt.Sprint("id", i), 0.1)
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		if late := i - 1000; late >= 0 {
			if _, ok := c.byID[fmt.Sprint("id", late)]; ok && i > 20000 {
				joined++
			}
		}
	}
	// 200 slots for 15 minutes of ten decisions a second: a share of 1/64 or so, whose decisions are kept for 20 minutes.
	part := c.State(1).Policies[0].KeepPart
	if got := float64(joined) / 20000; part > 1.0/20 || part < 1.0/200 || got < part/2 || got > 2*part {
		t.Errorf("share %g, joined after 100 s %g", part, got)
	}
}

// All methods at once; the race detector looks on.
func TestConcurrent(t *testing.T) {
	c := NewCollector(DefaultSettings())
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			info, r := planted(), rand.New(rand.NewPCG(2, uint64(g)))
			for i := range 300 {
				rec, loss := draw(r, info, fmt.Sprint(g, "-", i), 0.1)
				c.Add("p", strconv.Itoa(i%2), info, []*decisionlog.Record{rec})
				value := loss(rec.Action)
				c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value})
				c.Request("decide", 200, 0)
				if i%50 == 0 {
					c.State(5)
				}
			}
		})
	}
	all.Wait()
	s := c.State(1)
	if s.Policies[0].Decisions+s.Policies[1].Decisions != 1200 || s.Traffic.Requests != 1200 || s.Unmatched != 0 {
		t.Errorf("%+v", s.Traffic)
	}
	var none *Collector
	none.Add("", "", nil, nil)
	none.Shadow(nil, decisionlog.Shadow{}, true)
	none.Request("", 0, 0)
	none.Outcome(decisionlog.Outcome{})
}

func TestSettings(t *testing.T) {
	if err := DefaultSettings().Validate(); err != nil {
		t.Error(err)
	}
	if err := (Settings{Sample: -1}).Validate(); err == nil {
		t.Error("no error")
	}
}

// Quantiles are within the width of a bucket of the truth.
func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, scale := range []float64{5, 1e3, 1e6, 1e9} {
		var h histogram
		for range 20000 {
			h.add(int64(scale * r.Float64()))
		}
		for _, q := range []float64{0.1, 0.5, 0.99} {
			if got := h.quantile(q) / scale; math.Abs(got-q) > 0.08*q+0.6/scale {
				t.Errorf("scale %g: quantile %g is %g", scale, q, got)
			}
		}
	}
	for b := 1; b < histogramBuckets; b++ {
		if bucket(int64(lower(b))) != b || bucket(int64(lower(b))-1) != b-1 {
			t.Errorf("bucket %d begins at %g", b, lower(b))
		}
	}
	if bucket(-1) != 0 || bucket(math.MaxInt64) != histogramBuckets-1 {
		t.Error("ends")
	}
}

// A decision costs the collector little: at 8,000 a second, 384 features and 12 pairs, under a hundredth of a core.
func BenchmarkAdd(b *testing.B) {
	info := planted()
	info.Dim = 384
	for j := range 4 {
		info.Actions.Experts = append(info.Actions.Experts, costs.Expert{Name: strconv.Itoa(j)})
	}
	pairs := info.Actions.Len()
	records := make([]*decisionlog.Record, 1024)
	r := rand.New(rand.NewPCG(1, 6))
	for i := range records {
		rec, _ := draw(r, planted(), "", 0.1)
		rec.Features = make([]float32, 384)
		rec.ExpertFees, rec.Propensity = make([]float64, pairs/2), make([]float64, pairs)
		rec.ExpectedLoss, rec.ExpectedCost = make([]float32, pairs), make([]float32, pairs)
		rec.Available = info.Actions.Mask()
		records[i] = rec
	}
	c := NewCollector(DefaultSettings())
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		rec := records[i%len(records)]
		rec.ID = "0199b0a0-0000-7000-8000-" + strconv.Itoa(i)
		c.Add("p", "d", info, records[i%len(records):i%len(records)+1])
		c.Request("decide", 200, 0)
		i++
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MB")
}

// The figures of an hour are copied while decisions wait: it must be quick.
func BenchmarkState(b *testing.B) {
	c, now := timed()
	info, r := planted(), rand.New(rand.NewPCG(1, 7))
	for i := range 60 * 60 {
		*now = time.Duration(i) * time.Second
		rec, _ := draw(r, info, strconv.Itoa(i), 0.1)
		rec.Stages = decisionlog.Stages{Decode: 1, Encode: 2, Decide: 3, Advise: 4, Expert: 5, FirstByte: 6}
		c.Add("p", "d", info, []*decisionlog.Record{rec})
	}
	for b.Loop() {
		c.State(60)
	}
}
