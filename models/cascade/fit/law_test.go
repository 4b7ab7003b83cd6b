package fit

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/cascade"
	"pipe/models/lightgbm/lightgbmtest"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// What is seen of the answers of other rows tells nothing: the one-shot policy comes out, or what comes out costs no more
// than .002 more.
func TestPermutedFacts(t *testing.T) {
	if testing.Short() {
		t.Skip("a law of statistics")
	}
	o := models.Options{Runtime: orttest.Open(t, 0)}
	w := twoStages()
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 11))
		train, _ := w.sample(rng, 2000)
		permute(rng, train)
		p, r, err := Train(t.Context(), train, 1, quick(2), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d: guard %+.4f (%.4f to %.4f), fallback %t", seed, r.Guard.Gain, r.Guard.LowerBound, r.Guard.UpperBound, r.Guard.Fallback)
		if r.Guard.Fallback {
			if len(p.States) != 1 || r.States != nil {
				t.Errorf("seed %d: %d states", seed, len(p.States))
			}
			continue
		}
		fresh, levels := w.sample(rng, 10_000)
		permute(rng, fresh)
		s := quick(2)
		got, err := playAt(t.Context(), p, fresh, everyRow(fresh), 1, o)
		if err != nil {
			t.Fatal(err)
		}
		one, err := playAt(t.Context(), once(train, fixedPricing(train.Actions, 1), s, p.Rest), fresh, everyRow(fresh), 1, o)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := w.expected(got, levels), w.expected(one, levels); a > b+0.002 {
			t.Errorf("seed %d: %.4f, one-shot %.4f", seed, a, b)
		}
	}
}

// Where estimates are to be kept, a state in which one pair is always best has them too, so that answers differ in what is expected of them.
func TestStatesKeepEstimates(t *testing.T) {
	if testing.Short() {
		t.Skip("a law of statistics")
	}
	o := models.Options{Runtime: orttest.Open(t, 0)}
	train := coststest.Looks(1200, 3)
	for _, keep := range []bool{false, true} {
		s := quick(2)
		s.Auto.KeepEstimates = keep
		p, r, err := Train(t.Context(), train, 1, s, o)
		if err != nil || r.Guard.Fallback {
			t.Fatalf("%+v, %v", r.Guard, err)
		}
		fixed := 0
		for n, of := range r.States {
			if of.Guard.Fallback && p.States[n].Policy.Estimate == nil {
				fixed++
			}
		}
		if keep == (fixed > 0) {
			t.Errorf("with estimates kept: %t, %d of %d states have none", keep, fixed, len(r.States))
		}
	}
}

// Where the guard falls back, the file has the policy that auto.Train gives, also where facts tell rows apart that features do not.
func TestFallbackIsThePolicyOfAuto(t *testing.T) {
	o := models.Options{Runtime: orttest.Open(t, 0)}
	train, _ := twoStages().sample(rand.New(rand.NewPCG(14, 14)), 400)
	for i, v := range train.Features {
		train.Features[i] = float32(math.Round(float64(v)))
	}
	for n := range train.Len() {
		train.Groups = append(train.Groups, strconv.Itoa(n/2))
	}
	s := quick(3)
	s.Confidence = 1 - 1e-12
	p, r, err := Train(t.Context(), train, 1, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Guard.Fallback || p.Stages != 2 || r.Stages != 2 {
		t.Fatalf("%d stages, %+v", p.Stages, r)
	}
	want, _, err := auto.Train(t.Context(), train, []float64{0, 1}, s.Auto, o)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p.States[0].Policy.Estimate, want[1].Estimate) || want[1].Estimate == nil {
		t.Errorf("%+v, want %+v", p.States[0].Policy.Estimate, want[1].Estimate)
	}
}

// With a half-life, old rows judge less, as they do in auto.
func TestHalfLifeOfTheGuard(t *testing.T) {
	o := models.Options{Runtime: orttest.Open(t, 0)}
	w := twoStages()
	train, _ := w.sample(rand.New(rand.NewPCG(15, 15)), 300)
	s, at := quick(2), make([]float64, 2)
	sum := 0.0
	for n := range train.Len() {
		age := n % 5 // in days
		train.Times = append(train.Times, int64(10-age)*24*3600*1e6)
		if age > 2 {
			train.Losses(n)[0] = 1
		}
		weight := math.Exp2(-float64(age))
		sum += weight
		for i, fee := range w.fees {
			at[i] += weight * (float64(train.Losses(n)[i]) + fee)
		}
	}
	if err := s.Auto.HalfLife.Set("1d"); err != nil {
		t.Fatal(err)
	}
	_, r, err := Train(t.Context(), train, 1, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := min(at[0], at[1]) / sum; math.Abs(r.Guard.Fixed-want) > 1e-6 {
		t.Errorf("the fixed pair costs %.5f, want %.5f", r.Guard.Fixed, want)
	}
}

func permute(rng *rand.Rand, t *costs.Tensor) {
	pairs, order := t.Actions.Len(), rng.Perm(t.Len())
	for f, fact := range t.Facts {
		t.Facts[f].Data = make([]float32, 0, len(fact.Data))
		for _, n := range order {
			t.Facts[f].Data = append(t.Facts[f].Data, fact.Data[n*pairs:(n+1)*pairs]...)
		}
	}
}

// In no state does a higher fee of a pair make it the one that is executed next.
func TestHigherFees(t *testing.T) {
	o := models.Options{Runtime: orttest.Open(t, 0)}
	w := threeStages()
	rng := rand.New(rand.NewPCG(3, 3))
	train, _ := w.sample(rng, 1500)
	s := quick(3)
	l := newLearner(train, nil, fixedPricing(train.Actions, 1), s, o)
	states, _, err := l.states(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fresh, _ := w.sample(rng, 300)
	seen, changed := seenColumns(fresh), 0
	for _, state := range states {
		for pair := range w.fees {
			if slices.Contains(state.Executed, pair) {
				continue
			}
			dearer, a := *state.Policy, *state.Policy.Actions
			a.Experts = slices.Clone(a.Experts)
			a.Experts[pair].Fee += 0.03
			dearer.Actions = &a
			for n := range fresh.Len() {
				x := state.Encoding.Encode(nil, fresh.Row(n), seen[n*6:n*6+6])
				before, err := state.Policy.Decide(x)
				if err != nil {
					t.Fatal(err)
				}
				after, err := dearer.Decide(x)
				if err != nil {
					t.Fatal(err)
				}
				if before != after {
					changed++
				}
				if after == pair && before != pair {
					t.Errorf("after %v, row %d: %d is executed at a higher fee, in place of %d", state.Executed, n, pair, before)
				}
			}
		}
	}
	if changed == 0 {
		t.Error("no fee changed a decision")
	}
}

// Facts that are not known on some rows are a fact too: here an expert does not say how sure it is where it is wrong.
func TestUnknownFacts(t *testing.T) {
	o := models.Options{Runtime: orttest.Open(t, 0)}
	w := twoStages()
	rng := rand.New(rand.NewPCG(4, 4))
	sample := func(rows int) (*costs.Tensor, []int) {
		out, levels := w.sample(rng, rows)
		for at, loss := range out.Loss {
			out.Facts[0].Data[at] = 0.7
			if at%2 == 0 && loss == 1 {
				out.Facts[0].Data[at] = float32(math.NaN())
			}
		}
		return out, levels
	}
	train, _ := sample(2000)
	p, r, err := Train(t.Context(), train, 1, quick(2), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Guard.Fallback {
		t.Fatalf("%+v", r.Guard)
	}
	fresh, _ := sample(2000)
	played, err := playAt(t.Context(), p, fresh, everyRow(fresh), 1, o)
	if err != nil {
		t.Fatal(err)
	}
	for n, order := range played.Order {
		if order[0] == 0 && fresh.Losses(n)[0] == 1 && played.Accepted[n] == 0 && fresh.Losses(n)[1] == 0 {
			t.Fatalf("row %d: a wrong answer is accepted, %+v", n, r.Guard)
		}
	}
}

// The same rows and seed give the same file.
func TestSameFile(t *testing.T) {
	o := models.Options{Runtime: orttest.Open(t, 0)}
	train, _ := twoStages().sample(rand.New(rand.NewPCG(6, 6)), 400)
	var files [][]byte
	for range 2 {
		p, _, err := Train(t.Context(), train, 1, quick(2), o)
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.Export()
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, b)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two trainings give two files")
	}
}

// Copies of a row are on one side of the guard.
func TestFoldsKeepRowsTogether(t *testing.T) {
	train, _ := twoStages().sample(rand.New(rand.NewPCG(7, 7)), 100)
	twice := append(everyRow(train), everyRow(train)...)
	copies := train.Subset(twice)
	c := together(copies, nil)
	if c.Len() != 100 {
		t.Fatalf("%d sets of rows", c.Len())
	}
	side := make(map[int]int)
	for f, rows := range foldsOf(copies, c, quick(2)) {
		if len(rows) < 50 {
			t.Errorf("fold %d has %d rows", f, len(rows))
		}
		for _, n := range rows {
			if other, ok := side[n%100]; ok && other != f {
				t.Errorf("row %d is in folds %d and %d", n, f, other)
			}
			side[n%100] = f
		}
	}
}

func TestLimitedStates(t *testing.T) {
	s := DefaultSettings()
	for _, c := range []struct{ pairs, stages, states, want int }{
		{4, 2, 64, 4}, {30, 2, 64, 10}, {30, 3, 64, 7}, {3, 3, 4, 2}, {8, 2, 37, 8}, {8, 2, 36, 7},
	} {
		if s.Stages, s.States = c.stages, c.states; mostPairs(c.pairs, s) != c.want {
			t.Errorf("%+v: %d", c, mostPairs(c.pairs, s))
		}
	}
	o := models.Options{Runtime: orttest.Open(t, 0)}
	train, _ := threeStages().sample(rand.New(rand.NewPCG(8, 8)), 300)
	own := quick(2)
	own.States = 4
	p, r, err := Train(t.Context(), train, 1, own, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.FirstOnly) != 1 || len(r.Pairs) != 2 || !strings.Contains(p.Info[cascade.LimitsKey], r.FirstOnly[0]) {
		t.Errorf("%v and %v, %v", r.Pairs, r.FirstOnly, p.Info)
	}
}

func TestTrainRefuses(t *testing.T) {
	o := models.Options{Runtime: orttest.Open(t, 0)}
	for want, change := range map[string]func(*costs.Tensor, *Settings){
		"nothing is recorded": func(c *costs.Tensor, _ *Settings) { c.Facts = nil },
		"this is a log": func(c *costs.Tensor, _ *Settings) {
			c.Propensity = slices.Repeat([]float64{0.5}, len(c.Loss))
		},
		"stages: 1":                       func(_ *costs.Tensor, s *Settings) { s.Stages = 1 },
		"there is one pair":               func(c *costs.Tensor, _ *Settings) { alone(c) },
		"there are 9 training":            func(c *costs.Tensor, _ *Settings) { *c = *c.Subset(everyRow(c)[:9]) },
		`two pairs are called "e/0/none"`: func(c *costs.Tensor, _ *Settings) { slashes(c) },
		"folds: 1":                        func(_ *costs.Tensor, s *Settings) { s.Folds = 1 },
		"states: 2, not 4 to":             func(_ *costs.Tensor, s *Settings) { s.States = 2 },
		"values: 0, at least 1":           func(_ *costs.Tensor, s *Settings) { s.Values = 0 },
	} {
		train, _ := twoStages().sample(rand.New(rand.NewPCG(9, 9)), 100)
		s := quick(2)
		change(train, &s)
		if _, _, err := Train(t.Context(), train, 1, s, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// slashes names experts and advice so that two of the pairs have one name.
func slashes(t *costs.Tensor) {
	t.Actions.Experts = []costs.Expert{{Name: "e/0"}, {Name: "e"}}
	t.Actions.Advice = []costs.Advice{{Name: "none"}, {Name: "0/none"}}
	t.Actions.Unavailable = []costs.Pair{{Expert: 0, Advice: 1}, {Expert: 1, Advice: 0}}
	twice := func(v []float32) (out []float32) {
		for at := 0; at < len(v); at += 2 {
			out = append(out, v[at], float32(math.NaN()), float32(math.NaN()), v[at+1])
		}
		return out
	}
	t.Loss = twice(t.Loss)
	for f := range t.Facts {
		t.Facts[f].Data = twice(t.Facts[f].Data)
	}
}

// alone leaves one pair.
func alone(t *costs.Tensor) {
	t.Actions.Unavailable = []costs.Pair{{Expert: 1}}
	for at := range t.Loss {
		if at%2 == 1 {
			t.Loss[at] = float32(math.NaN())
		}
	}
}

// Rows that all belong together cannot be judged: every first answer is accepted.
func TestOneGroup(t *testing.T) {
	o := models.Options{Runtime: orttest.Open(t, 0)}
	train, _ := twoStages().sample(rand.New(rand.NewPCG(10, 10)), 100)
	train.Groups = slices.Repeat([]string{"all"}, train.Len())
	p, r, err := Train(t.Context(), train, 1, quick(2), o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Guard.Fallback || r.Guard.Rows != 0 || len(p.States) != 1 || r.Calibration != nil {
		t.Errorf("%+v", r)
	}
	if _, err := p.Export(); err != nil {
		t.Error(err)
	}
}

// Where outcomes are not all known, the rest is learned from.
func TestUnknownOutcomes(t *testing.T) {
	if testing.Short() {
		t.Skip("a law of statistics")
	}
	o := models.Options{Runtime: orttest.Open(t, 0)}
	rng := rand.New(rand.NewPCG(12, 12))
	train, _ := twoStages().sample(rng, 3000)
	for n := range train.Len() {
		if n%3 == 0 {
			train.Loss[n*2+rng.IntN(2)] = float32(math.NaN())
		}
	}
	_, r, err := Train(t.Context(), train, 1, quick(2), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Guard.Fallback || r.Guard.Rows != 2000 || r.States[0].Rows != 2000 {
		t.Errorf("%+v", r)
	}
}

// Networks and trees are members of states too, and what is measured of fees is paid once.
func TestMembersAndMeasuredFees(t *testing.T) {
	lightgbmtest.Open(t)
	o := models.Options{Runtime: orttest.Open(t, 0)}
	train, _ := twoStages().sample(rand.New(rand.NewPCG(13, 13)), 600)
	plain := train.Actions.Experts
	train.Actions.Experts = []costs.Expert{{Name: "e0"}, {Name: "e1"}}
	for n := range train.Len() {
		train.Fee = append(train.Fee, float32(plain[0].Fee), float32(2*plain[1].Fee*float64(n%2)))
	}
	s := quick(2)
	s.Auto.Networks, s.Auto.Steps, s.Auto.Trees, s.Rule = DefaultSettings().Auto.Networks[:2], 60, []int{10}, policy.RuleGain
	p, r, err := Train(t.Context(), train, 1, s, o)
	if err != nil {
		t.Fatal(err)
	}
	played, err := playAt(t.Context(), p, train, everyRow(train), 1, o)
	if err != nil {
		t.Fatal(err)
	}
	for n, order := range played.Order {
		fee := 0.0
		for _, i := range order {
			fee += float64(train.Fee[n*2+i])
		}
		if cost := fee + float64(train.Losses(n)[played.Accepted[n]]); math.Abs(cost-played.Cost(n)) > 1e-6 {
			t.Fatalf("row %d costs %g, not %g", n, played.Cost(n), cost)
		}
	}
	if r.Guard.Fallback || len(r.States) != 4 || r.Calibration == nil || !strings.Contains(p.Info[policy.CalibrationKey], "e0/none") {
		t.Errorf("%+v", r.Guard)
	}
}
