package auto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// plantedLaw is a table with a known distribution: the mean task loss of every pair as a function of the features.
type plantedLaw struct {
	actions *costs.Actions
	dim     int
	mean    func(x []float32) []float64
}

// structured has advice that is worth buying only for expert b and only on part of the inputs: expert a is good on the
// left, c is mediocre everywhere, and b is good on the right only with the second advice, where a + b's feature agree.
var structured = plantedLaw{
	actions: &costs.Actions{
		Experts:  []costs.Expert{{Name: "a"}, {Name: "b", Fee: 0.02}, {Name: "c", Fee: 0.01}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: "short", Fee: 0.03}, {Name: "long", Fee: 0.06}},
		Features: costs.FeatureSource{Name: "planted", Dim: 8},
	},
	dim: 8,
	mean: func(x []float32) []float64 {
		m := []float64{0.45, 0.45, 0.45, 0.5, 0.48, 0.5, 0.4, 0.4, 0.4}
		if x[0] < 0 {
			m[0], m[1], m[2] = 0.15, 0.15, 0.15
		} else if x[0]+x[1] > 0.5 {
			m[5] = 0.1 // b with the long advice
		}
		return m
	},
}

// flat has the same pairs and no structure: features have no information.
var flat = plantedLaw{
	actions: structured.actions, dim: 8,
	mean: func([]float32) []float64 { return []float64{0.3, 0.3, 0.3, 0.34, 0.31, 0.3, 0.36, 0.35, 0.34} },
}

func (l plantedLaw) tensor(n int, split costs.Split, seed uint64, realised bool) *costs.Tensor {
	t := &costs.Tensor{Actions: l.actions, Dim: l.dim}
	r := rand.New(rand.NewPCG(seed, uint64(split)))
	for i := range n {
		x := make([]float32, l.dim)
		for c := range x {
			x[c] = float32(2*r.Float64() - 1)
		}
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(split, i)), append(t.Splits, split)
		t.Features = append(t.Features, x...)
		for _, m := range l.mean(x) {
			u := r.Float64()
			if !realised {
				t.Loss = append(t.Loss, float32(m))
			} else if u < m {
				t.Loss = append(t.Loss, 1)
			} else {
				t.Loss = append(t.Loss, 0)
			}
		}
	}
	return t
}

func trainAuto(t *testing.T, l plantedLaw, rows int, seed uint64) (*policy.Policy, Report) {
	t.Helper()
	train := l.tensor(rows, costs.Train, seed, true)
	policies, reports, err := Train(context.Background(), train, []float64{1}, DefaultSettings(), models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return policies[0], reports[0]
}

// decider runs a policy as the file that would be deployed.
func decider(t *testing.T, p *policy.Policy) *policy.Decider {
	t.Helper()
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	d, err := policy.NewDecider(orttest.Open(t, 0), m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// risk is a policy's expected cost on new inputs, and the Bayes risk there.
func (l plantedLaw) risk(t *testing.T, p *policy.Policy) (own, bayes float64) {
	t.Helper()
	test := l.tensor(20_000, costs.Test, 2, false)
	d := decider(t, p)
	out, err := d.Decide(context.Background(), test.Features, test.Len())
	if err != nil {
		t.Fatal(err)
	}
	var c []float64
	for n := range test.Len() {
		c = test.Costs(c, n, 1)
		own += c[out.Action[n]] / float64(test.Len())
		best := math.Inf(1)
		for _, v := range c {
			best = min(best, v)
		}
		bayes += best / float64(test.Len())
	}
	return own, bayes
}

func TestAutoFindsPlantedStructure(t *testing.T) {
	if testing.Short() {
		t.Skip("searches over 20,000 rows")
	}
	draws := []uint64{15, 14} // the worst of all that were tried
	for _, seed := range draws {
		p, r := trainAuto(t, structured, 20_000, seed)
		own, bayes := structured.risk(t, p)
		t.Logf("draw %d, %d rows: expected cost %.4f, Bayes %.4f, guard %+v", seed, r.Rows, own, bayes, r.Guard)
		if r.Guard.Fallback || own > bayes+0.01 {
			t.Errorf("draw %d: expected cost %.4f is not within 0.01 of Bayes %.4f (guard %+v)", seed, own, bayes, r.Guard)
		}
	}
}

// TestAutoJudgesLargeTablesOnOneSplit uses the inner split of tables that are too large for folds.
func TestAutoJudgesLargeTablesOnOneSplit(t *testing.T) {
	if testing.Short() {
		t.Skip("searches over 12,000 rows")
	}
	s := DefaultSettings()
	s.CrossFit = 5000
	policies, reports, err := Train(context.Background(), structured.tensor(12_000, costs.Train, 1, true), []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	own, bayes := structured.risk(t, policies[0])
	if r := reports[0]; r.Folds != 1 || r.Guard.Rows != 3000 || r.Guard.Fallback || own > bayes+0.02 {
		t.Fatalf("expected cost %.4f, Bayes %.4f, report %+v", own, bayes, r)
	}
}

func TestAutoEndsOnTheConstantWithoutStructure(t *testing.T) {
	rows := 20_000
	if testing.Short() {
		rows = 5_000
	}
	p, r := trainAuto(t, flat, rows, 1)
	t.Logf("guard %+v", r.Guard)
	if !r.Guard.Fallback || p.Decoder != policy.DecoderFixed || p.Actions.Name(p.Fixed) != "a/none" {
		t.Fatalf("a table without structure ended on %s %s (guard %+v)", p.Decoder, p.Actions.Name(p.Fixed), r.Guard)
	}
}

// TestGuardIsSeldomFooled: on small tables without structure, few policies pass the guard by luck, and these lose little.
func TestGuardIsSeldomFooled(t *testing.T) {
	if testing.Short() {
		t.Skip("12 searches")
	}
	s := DefaultSettings()
	s.Steps, s.Networks, s.Seeds = 400, s.Networks[:2], 2
	const tables = 12
	fooled, lost := 0, 0.0
	for seed := range uint64(tables) {
		train := flat.tensor(400, costs.Train, 100+seed, true)
		p, r, err := Train(context.Background(), train, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
		if err != nil {
			t.Fatal(err)
		}
		if r[0].Guard.Fallback {
			continue
		}
		fooled++
		own, _ := flat.risk(t, p[0])
		best := policy.NewFixed(flat.actions, addFees(flat.mean(nil)), 1, flat.dim)
		best.Method = Name
		fixed, _ := flat.risk(t, best)
		lost += (own - fixed) / tables
	}
	t.Logf("%d of %d tables without structure pass the guard; the mean loss to the constant is %.4f", fooled, tables, lost)
	if fooled > 4 || lost > 0.002 {
		t.Fatalf("%d of %d tables without structure pass the guard, with a mean loss of %.4f", fooled, tables, lost)
	}
}

// addFees adds the fees at lambda 1 to mean losses.
func addFees(mean []float64) []float64 {
	for i, fee := range flat.actions.Fees(1) {
		mean[i] += fee
	}
	return mean
}

// TestAutoResumes interrupts a search and continues it to the same policy, also while it takes more draws.
func TestAutoResumes(t *testing.T) {
	s := DefaultSettings()
	s.Steps, s.Seeds, s.Networks, s.Workers = 200, 2, s.Networks[2:], 1
	s.Rule = policy.RuleBound // by which the verdict is close
	t.Run("folds", func(t *testing.T) { resumes(t, structured.tensor(600, costs.Train, 1, true), s) })
	s.Rule = policy.RuleGain
	s.CrossFit, s.Steps = 100, 100
	t.Run("close verdict of an inner split", func(t *testing.T) { resumes(t, faint(0.2).tensor(600, costs.Train, 1, true), s) })
}

func resumes(t *testing.T, train *costs.Tensor, s Settings) {
	t.Helper()
	whole, reports, err := Train(context.Background(), train, []float64{0, 1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if g := reports[0].Guard; g.Draws < 2 {
		t.Fatalf("the verdict is clear with one draw, so the test does not show that others resume: %+v", g)
	}
	dir := t.TempDir()
	o := models.Options{Runtime: orttest.Open(t, 0), Save: models.CheckpointPolicy{Dir: dir}}
	for cut := 60; ; cut *= 2 { // each attempt gets a little further, then is cancelled
		ctx, cancel := context.WithCancel(context.Background())
		steps := 0
		o.Progress = func(n int) {
			if steps += n; steps >= cut {
				cancel()
			}
		}
		got, _, err := Train(ctx, train, []float64{0, 1}, s, o)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				t.Fatal(err)
			}
			continue
		}
		// Again, from the checkpoints of stages that have all ended.
		o.Progress = nil
		again, _, err := Train(context.Background(), train, []float64{0, 1}, s, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			if exported(t, whole[i]) != exported(t, got[i]) || exported(t, whole[i]) != exported(t, again[i]) {
				t.Fatalf("policy %d of the resumed run differs", i)
			}
		}
		return
	}
}

func exported(t *testing.T, p *policy.Policy) string {
	t.Helper()
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTrainRefuses what no policy can be learned from, before any work.
func TestTrainRefuses(t *testing.T) {
	damaged := func(change func(t *costs.Tensor)) *costs.Tensor {
		train := structured.tensor(200, costs.Train, 1, true)
		change(train)
		return train
	}
	for want, c := range map[string]struct {
		t       *costs.Tensor
		lambdas []float64
	}{
		"there is no tensor":   {nil, []float64{1}},
		"no actions":           {damaged(func(t *costs.Tensor) { t.Actions = nil }), []float64{1}},
		"is +Inf":              {damaged(func(t *costs.Tensor) { t.Loss[4] = float32(math.Inf(1)) }), []float64{1}},
		"column id":            {damaged(func(t *costs.Tensor) { t.IDs[4] = t.IDs[5] }), []float64{1}},
		"lambdas: the list is": {damaged(func(*costs.Tensor) {}), nil},
		"lambdas: -1":          {damaged(func(*costs.Tensor) {}), []float64{-1}},
		"no runtime":           {damaged(func(*costs.Tensor) {}), []float64{1}},
		"there are 0 training": {damaged(func(t *costs.Tensor) { t.Splits = slices.Repeat([]costs.Split{costs.Val}, t.Len()) }), []float64{1}},
	} {
		_, _, err := Train(t.Context(), c.t, c.lambdas, DefaultSettings(), models.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

// TestTrainRefusesFeesThatExcludePairs: fees must stay below the scores that exclude pairs in a file.
func TestTrainRefusesFeesThatExcludePairs(t *testing.T) {
	train := noise(80, 1)
	actions := *train.Actions
	actions.Advice = slices.Clone(actions.Advice)
	actions.Advice[1].Fee = 1e20
	train.Actions = &actions
	o := models.Options{Runtime: orttest.Open(t, 0)}
	var data *costs.DataError
	if _, _, err := Train(t.Context(), train, []float64{1e6}, smallAuto(), o); !errors.As(err, &data) || !strings.Contains(err.Error(), "a fee of 1e+26 at lambda 1e+06") {
		t.Errorf("error %v", err)
	}
	if _, _, err := TrainAnyPrice(t.Context(), train, policy.PriceRange{Lambda: [2]float64{0, 1e6}, Fee: [2]float64{1, 1}}, smallAuto(), o); !errors.As(err, &data) {
		t.Errorf("any price: error %v", err)
	}
}

// TestFallbackOfAnyPriceTakesTheBestFixedPairs: without structure the policy takes the best fixed pair of every price,
// and the file does not claim members that it does not contain.
func TestFallbackOfAnyPriceTakesTheBestFixedPairs(t *testing.T) {
	s := smallAuto()
	s.Steps = 40
	train, rt := noise(80, 3), orttest.Open(t, 0)
	p, r, err := TrainAnyPrice(t.Context(), train, policy.DefaultPriceRange(), s, models.Options{Runtime: rt})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Guard.Fallback || len(r.Guard.Prices) < 2 {
		t.Fatalf("guard %+v", r.Guard)
	}
	var members []policy.Member
	if err := json.Unmarshal([]byte(p.Info[policy.BlendKey]), &members); err != nil || len(members) != len(r.Members) {
		t.Fatalf("members %v, %v", members, err)
	}
	for _, m := range members {
		if m.Weight != 0 {
			t.Errorf("%s has the weight %g in a file without it", m.Name, m.Weight)
		}
	}
	if _, ok := p.Info[policy.CalibrationKey]; ok {
		t.Error("the file has the calibration of estimates that it does not contain")
	}
	d := decider(t, p)
	for _, price := range r.Guard.Prices {
		if price.Scaled != "" {
			continue
		}
		out, err := d.DecideAt(t.Context(), policy.PricesOf(train.Actions, price.Lambda), train.Features, train.Len())
		if err != nil {
			t.Fatal(err)
		}
		for n, action := range out.Action {
			if got := train.Actions.Name(int(action)); got != price.Fixed {
				t.Fatalf("lambda %g, row %d: %s, want %s", price.Lambda, n, got, price.Fixed)
			}
		}
	}
}

// TestExpectedLossesStayInRange: estimates of ridge regression go beyond the losses far from the training rows; what a
// policy says it expects does not.
func TestExpectedLossesStayInRange(t *testing.T) {
	s := DefaultSettings()
	s.Networks, s.Neighbours = nil, nil
	policies, _, err := Train(t.Context(), structured.tensor(2000, costs.Train, 1, true), []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	d := decider(t, policies[0])
	far := make([]float32, 2*structured.dim)
	for i := range far {
		far[i] = float32(50 - 100*(i%2))
	}
	out, err := d.Decide(t.Context(), far, 2)
	if err != nil {
		t.Fatal(err)
	}
	beyond := false
	for i, v := range out.Loss {
		beyond = beyond || out.Scores[i] > 0.5 || out.Scores[i] < -1.5
		if v < 0 || v > 1 {
			t.Errorf("the expected loss of row %d, pair %d is %g", i/9, i%9, v)
		}
	}
	if !beyond {
		t.Error("no estimate is beyond the losses: the test shows nothing")
	}
}
