package auto

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// crossed has two experts, each good where the other is not, and a third that is never good.
var crossed = plantedLaw{
	actions: &costs.Actions{
		Experts:  []costs.Expert{{Name: "a"}, {Name: "b", Fee: 0.02}, {Name: "c", Fee: 0.01}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: "long", Fee: 0.03}},
		Features: costs.FeatureSource{Name: "planted", Dim: 4},
	},
	dim: 4,
	mean: func(x []float32) []float64 {
		if x[0] < 0 {
			return []float64{0.1, 0.1, 0.7, 0.7, 0.6, 0.6}
		}
		return []float64{0.6, 0.6, 0.15, 0.05, 0.6, 0.6}
	},
}

// plantedLog is a log of rows of a law, on which the best constant is deployed with exploration among some pairs.
func plantedLog(t *testing.T, l plantedLaw, rows int, seed uint64, chances []float64) (*costs.Tensor, *Deployed) {
	t.Helper()
	table := l.tensor(rows, costs.Train, seed, true)
	log := logOf(table, every(rows), func(int) []float64 { return chances }, rand.New(rand.NewPCG(seed, 6)))
	if err := log.ValidatePartial(); err != nil {
		t.Fatal(err)
	}
	return log, &Deployed{Name: "deployed", Actions: slices.Repeat([]int{0}, rows)}
}

func trainLog(t *testing.T, log *costs.Tensor, s Settings) (*policy.Policy, Report) {
	t.Helper()
	policies, reports, err := Train(context.Background(), log, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return policies[0], reports[0]
}

// Pairs that the log never executed, or on too few rows, are in the report and never taken: by a learned policy, by the best fixed pair, and
// at any price.
func TestUntriedPairsAreNeverTaken(t *testing.T) {
	chances := []float64{0.5, 0.1, 0.248, 0.15, 0.002, 0}
	log, _ := plantedLog(t, crossed, 1000, 3, chances)
	p, r := trainLog(t, log, replaySettings())
	var untried []string
	for _, s := range r.Support {
		if s.Untried {
			untried = append(untried, s.Pair)
		}
	}
	if got := strings.Join(untried, " "); got != "c/none c/long" || len(r.Support) != 6 || p.Info[policy.SupportKey] == "" {
		t.Fatalf("untried are %q of %+v", got, r.Support)
	}
	if r.Guard.Rule != policy.RuleBound || r.Guard.Log == nil || r.Guard.Log.Rows != 1000 || r.Logged != 1000 || r.Complete != 0 {
		t.Errorf("guard %+v of %d logged rows", r.Guard, r.Logged)
	}
	if err := p.Matches(log); err != nil {
		t.Errorf("the policy does not match its table: %v", err)
	}
	var learned bool
	x := crossed.tensor(5000, costs.Test, 4, false)
	never := func(p *policy.Policy, fees []float64) {
		d := decider(t, p)
		prices := d.Info().PriceAt(p.Actions, 1, nil)
		var out *policy.Decisions
		var err error
		if fees == nil {
			out, err = d.Decide(context.Background(), x.Features, x.Len())
		} else {
			copy(prices.Experts, fees)
			out, err = d.DecideAt(context.Background(), prices, x.Features, x.Len())
		}
		if err != nil {
			t.Fatal(err)
		}
		for n, a := range out.Action {
			learned = learned || a != out.Action[0]
			if a > 3 {
				t.Fatalf("row %d: %s is taken", n, p.Actions.Name(int(a)))
			}
		}
	}
	never(p, nil)
	if !learned {
		t.Error("a constant is exported; nothing is shown of learned policies")
	}
	any, _, err := TrainAnyPrice(context.Background(), log, policy.DefaultPriceRange(), replaySettings(), models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	never(any, []float64{5, 5, 0})
	noise := crossed
	noise.mean = func([]float32) []float64 { return []float64{0.4, 0.4, 0.5, 0.5, 0.01, 0.01} }
	worthless, _ := plantedLog(t, noise, 500, 3, chances)
	p, r = trainLog(t, worthless, replaySettings())
	if !r.Guard.Fallback {
		t.Fatalf("a policy of noise: %+v", r.Guard)
	}
	never(p, nil)
	s := replaySettings()
	s.Support = 2000
	if _, _, err := Train(context.Background(), log, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)}); err == nil || !strings.Contains(err.Error(), "no pair was executed on 2000 training rows") {
		t.Errorf("no pair has enough support: %v", err)
	}
}

// Where features have no information and the deployed pair is the best, it stays in at least 95% of the draws. PIPE_LOG_DRAWS draws more.
func TestNoiseKeepsTheDeployedPolicy(t *testing.T) {
	if testing.Short() {
		t.Skip("a law of statistics")
	}
	draws := 20
	if n, err := strconv.Atoi(os.Getenv("PIPE_LOG_DRAWS")); err == nil {
		draws = n
	}
	for name, chances := range map[string][]float64{"all pairs": epsilon(0, 0.2, slices.Repeat([]bool{true}, 9)), "four pairs": {0.7, 0.1, 0.1, 0.1, 0, 0, 0, 0, 0}} {
		left := 0
		for seed := range uint64(draws) {
			log, deployed := plantedLog(t, flat, 500, 100+seed, chances)
			s := replaySettings()
			s.Seed, s.Deployed = seed, deployed
			p, r := trainLog(t, log, s)
			if (p == nil) != r.Guard.Fallback || r.Guard.Deployed != "deployed" {
				t.Fatalf("policy %v, guard %+v", p, r.Guard)
			}
			if p != nil {
				left++
				t.Logf("%s, draw %d: %+v, %+v", name, seed, r.Guard, r.Guard.Log)
			}
		}
		if t.Logf("%s: the deployed policy stays in %d of %d draws", name, draws-left, draws); 20*left > draws {
			t.Errorf("%s: the deployed policy is left in %d of %d draws", name, left, draws)
		}
	}
}

// A log without exploration shows nothing of other pairs than the executed ones, whatever estimates say of them.
func TestNothingIsShownWithoutExploration(t *testing.T) {
	if testing.Short() {
		t.Skip("a law of statistics")
	}
	rows := 2000
	table := structured.tensor(rows, costs.Train, 8, true)
	old := func(n int) int { // a policy by a feature that does not matter
		if table.Row(n)[5] > 0 {
			return 0
		}
		return 6
	}
	log := logOf(table, every(rows), func(n int) []float64 { return epsilon(old(n), 0, table.Actions.Mask()) }, rand.New(rand.NewPCG(1, 1)))
	s := replaySettings()
	s.Deployed = &Deployed{Name: "old"}
	for n := range rows {
		s.Deployed.Actions = append(s.Deployed.Actions, old(n))
	}
	p, r := trainLog(t, log, s)
	if p != nil || r.Guard.Log.Unsupported == 0 || r.Guard.Gain > 0 {
		t.Errorf("%+v, %+v", r.Guard, r.Guard.Log)
	}
	// On the rows of the other pair, nothing is known of a constant either: it is not beaten there, and the report says so.
	never := 0
	for n := range rows {
		if old(n) != 0 {
			never++
		}
	}
	s.Deployed = &Deployed{Name: "constant", Actions: make([]int, rows)}
	p, r = trainLog(t, log, s)
	if p != nil || r.Guard.Log.Unsupported < never || r.Guard.Gain > 0 {
		t.Errorf("against a constant: %+v, %+v", r.Guard, r.Guard.Log)
	}
	s.Deployed = nil
	if _, r = trainLog(t, log, s); r.Guard.Log.Unsupported < min(never, rows-never) || r.Guard.Gain > 0 {
		t.Errorf("without a deployed policy: %+v, %+v", r.Guard, r.Guard.Log)
	}
}

// What the losses of a log are taken to be has the right mean for every pair, whatever the estimates are: by how probable executions were.
func TestJudgedLossesHaveTheRightMean(t *testing.T) {
	const rows = 20_000
	table := structured.tensor(rows, costs.Train, 5, true)
	chances := func(n int) []float64 {
		if table.Row(n)[0] < 0 {
			return epsilon(0, 0.5, table.Actions.Mask())
		}
		return epsilon(5, 0.5, table.Actions.Mask())
	}
	log := logOf(table, every(rows), chances, rand.New(rand.NewPCG(5, 5)))
	tab := newTable(log, replaySettings())
	for _, q := range []float32{0, 0.5, 3} {
		tab.estimated(slices.Repeat([]float32{q}, len(tab.held)*9))
		for i, mean := range tab.meansOfJudged(tab.everyHeld()) {
			truth := 0.0
			for n := range rows {
				truth += float64(table.Losses(n)[i]) / rows
			}
			if far := math.Abs(mean - truth); far > 4*math.Sqrt((0.25+float64(q*q))*18/rows) {
				t.Errorf("estimates of %g: %s is taken to cost %.4f, and costs %.4f", q, table.Actions.Name(i), mean, truth)
			}
		}
	}
}

// Propensities that cannot be those of the executed pairs are refused.
func TestWrongPropensities(t *testing.T) {
	chances := []float64{0.4, 0.1, 0, 0.15, 0.1, 0.15, 0.1, 0, 0}
	for name, change := range map[string]func(p []float64){
		"is 0, but":         func(p []float64) { slices.Reverse(p) },
		"sum to":            func(p []float64) { p[0] = 0.5 },
		"a probability is ": func(p []float64) { p[0] = -0.1 },
	} {
		log, _ := plantedLog(t, structured, 200, 1, chances)
		for n := range log.Len() {
			change(log.Propensities(n))
		}
		if _, _, err := Train(context.Background(), log, []float64{1}, replaySettings(), models.Options{Runtime: orttest.Open(t, 0)}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Complete rows judge with logged ones, exactly, and settings of a log change nothing where there is none.
func TestCompleteRowsJudgeWithALog(t *testing.T) {
	log, deployed := plantedLog(t, structured, 1500, 7, epsilon(0, 0.3, slices.Repeat([]bool{true}, 9)))
	full := structured.tensor(1500, costs.Train, 7, true)
	for n := range 500 {
		copy(log.Losses(n), full.Losses(n))
		for i := range log.Propensities(n) {
			log.Propensities(n)[i] = math.NaN()
		}
	}
	s := replaySettings()
	s.Deployed = deployed
	_, r := trainLog(t, log, s)
	if r.Complete != 500 || r.Logged != 1000 || r.Guard.Rows != 1500 || r.Guard.Log.Rows != 1000 || r.Guard.Log.Complete != 500 {
		t.Errorf("%+v, guard %+v, %+v", r, r.Guard, r.Guard.Log)
	}
	other := replaySettings()
	other.Weights, other.Clip, other.Caution, other.Support = WeightsIPS, 2, 7, 700
	a, _ := trainLog(t, full, replaySettings())
	b, rb := trainLog(t, full, other)
	x, err := a.Export()
	if err != nil {
		t.Fatal(err)
	}
	y, err := b.Export()
	if err != nil {
		t.Fatal(err)
	}
	one, err := x.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	two, err := y.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one, two) || rb.Support != nil {
		t.Error("settings of a log change what a complete table gives")
	}
}

// Logs of other systems often have only the probability of what was executed. What follows from it is filled in; where it is not known
// whether the log could execute a pair, no gain is counted.
func TestUnknownPropensities(t *testing.T) {
	nan := math.NaN()
	all := []bool{true, true, true}
	for _, c := range []struct {
		known  []float64
		exists []bool
		want   []float64
	}{
		{[]float64{0.25, nan, 0.5}, all, []float64{0.25, 0.25, 0.5}},
		{[]float64{nan, 1, nan}, all, []float64{0, 1, 0}},
		{[]float64{0.25, nan, nan}, all, []float64{0.25, nan, nan}},
		{[]float64{0.25, nan, nan}, []bool{true, false, true}, []float64{0.25, 0, 0.75}},
	} {
		got := completed(c.known, c.exists)
		for i := range got {
			if got[i] != c.want[i] && (got[i] == got[i] || c.want[i] == c.want[i]) {
				t.Errorf("%v with the pairs %v: %v, want %v", c.known, c.exists, got, c.want)
			}
		}
	}
	log, _ := plantedLog(t, structured, 300, 1, epsilon(0, 0.9, slices.Repeat([]bool{true}, 9)))
	for n := range log.Len() {
		own := log.Observed(n)
		for i := range log.Propensities(n) {
			if i != own {
				log.Propensities(n)[i] = nan
			}
		}
	}
	_, reports, err := Train(context.Background(), log, []float64{1}, replaySettings(), models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if g := reports[0].Guard; !g.Fallback || g.LowerBound-g.LowerBound != 0 || g.LowerBound > 0 {
		t.Errorf("a log that does not say what it could execute shows a gain of at least %v, fallback %v", g.LowerBound, g.Fallback)
	}
}
