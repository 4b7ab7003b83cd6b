package risk

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestGoldens(t *testing.T) {
	for _, g := range []struct {
		name      string
		got, want float64
	}{
		{"no error in 59", hoeffdingBentkus(0, 59, 0.05, true), math.Pow(0.95, 59)},
		{"no error in 59, losses between", hoeffdingBentkus(0, 59, 0.05, false), math.Pow(0.95, 59)}, // Hoeffding's
		{"one error in 10", hoeffdingBentkus(1, 10, 0.5, true), 11.0 / 1024},
		{"one error in 10, losses between", hoeffdingBentkus(1, 10, 0.5, false), math.Exp(-10 * (0.1*math.Log(0.2) + 0.9*math.Log(1.8)))},
		{"no error in 1", hoeffdingBentkus(0.5, 1, 0.9, false), math.Exp(-(0.5*math.Log(0.5/0.9) + 0.5*math.Log(5)))},
		{"3 of 200, by MAPIE", hoeffdingBentkus(3, 200, 0.05, false), 0.0245960403},
		{"3 of 200 wrong, by MAPIE", hoeffdingBentkus(3, 200, 0.05, true), 0.0090483770},
		{"a mean above alpha", hoeffdingBentkus(9, 10, 0.5, false), 1},
		{"no samples", hoeffdingBentkus(0, 0, 0.5, true), 1},
		{"conformal", conformal(3, 99), 0.04},
		{"no bet wins", bettingBound([]float64{1, 1, 1}, 0.05), 1},
		{"nothing to bet on", bettingBound(nil, 0.05), 1},
		{"one bet of stake 1", bettingBound([]float64{0}, 0.5), 1},                 // 1 + R > 2 for no R below 1
		{"two bets of stake 1", bettingBound([]float64{0, 0}, 0.26), 0.9611613513}, // (1+R)^2 = 1/0.26
	} {
		if !(math.Abs(g.got-g.want) <= 1e-8) {
			t.Errorf("%s: %.10f, want %.10f", g.name, g.got, g.want)
		}
	}
}

func TestFixedSequenceStopsAtTheFirstThatIsNotRejected(t *testing.T) {
	p := []float64{0.001, 0.02, 0.2, 0.001, 0.004, 0.3}
	for _, c := range []struct {
		starts int
		want   []bool
	}{
		{1, []bool{true, true, false, false, false, false}},
		{2, []bool{true, true, false, true, true, false}},
		{9, []bool{true, false, false, true, true, false}}, // as many starts as hypotheses: Bonferroni at 0.05/6
	} {
		got := fixedSequence(len(p), c.starts, 0.05, func(i int, level float64) bool { return p[i] <= level })
		if !slices.Equal(got, c.want) {
			t.Errorf("%d starts: %v, want %v", c.starts, got, c.want)
		}
	}
}

// world draws rows whose loss is 1 with the probability score^power * most.
func world(random *rand.Rand, rows int, power, most float64) Rows {
	r := Rows{At: make([]Decisions, 1), Cluster: make([]int, rows), Binary: true}
	for n := range rows {
		r.Cluster[n] = n
		s := random.Float64()
		loss := 0.0
		if random.Float64() < most*math.Pow(s, power) {
			loss = 1
		}
		r.At[0].Score, r.At[0].Loss = append(r.At[0].Score, float32(s)), append(r.At[0].Loss, loss)
	}
	return r
}

// TestRiskHolds draws calibration rows of a world whose risk is known at every threshold: it is above alpha no more often than
// promised, also where it rises only from 0.1 on, so that a threshold that is too large is soon taken. Conformal risk control
// keeps its mean.
func TestRiskHolds(t *testing.T) {
	const draws, alpha, delta = 1000, 0.1, 0.1
	random := rand.New(rand.NewPCG(1, 2))
	var even []float32
	for i := range 100 {
		even = append(even, float32(i+1)/100)
	}
	for _, m := range []Method{LTT, RCPS, CRC} {
		s := Settings{Risk: alpha, Confidence: 1 - delta, Method: m, Bound: 1, Starts: 5}
		wrong, share, joint := 0, 0.0, 0.0
		for range draws {
			c, ok, err := Choose(Thresholds(even), world(random, 500, 2, 0.9), s)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			accepted := min(1, float64(c.Threshold))
			risk := 0.9 * accepted * accepted / 3 // mean of 0.9 s^2 below the threshold
			share, joint = share+accepted/draws, joint+accepted*risk/draws
			if risk > alpha {
				wrong++
			}
		}
		t.Logf("%s: %.1f%% of %d draws above %g, %.1f%% accepted, mean loss per decision %.4f", m, 100*float64(wrong)/draws, draws, alpha, 100*share, joint)
		switch {
		case m == CRC && (joint > alpha || joint < 0.9*alpha):
			t.Errorf("%s: the mean loss per decision is %.4f, it must be just below %g", m, joint, alpha)
		case m != CRC && float64(wrong)/draws > delta+2*math.Sqrt(delta*(1-delta)/draws):
			t.Errorf("%s: %d of %d draws have a risk above %g", m, wrong, draws, alpha)
		case m != CRC && share < 0.3: // 0.577 is possible
			t.Errorf("%s: only a share of %.3f is accepted", m, share)
		}
	}
}

func TestAllIsAcceptedWhereTheRiskIsLow(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, m := range []Method{LTT, RCPS, CRC} {
		for range 100 {
			s := Settings{Risk: 0.2, Confidence: 0.95, Method: m, Bound: 1, Starts: 5}
			c, ok, err := Choose(Thresholds([]float32{0.1, 0.5, 0.9}), world(random, 500, 0, 0.05), s)
			if err != nil || !ok || !math.IsInf(float64(c.Threshold), 1) || c.Share() != 1 {
				t.Fatalf("%s: %+v %v %v", m, c, ok, err)
			}
		}
	}
}

func TestNothingIsAcceptedWhereTheRiskIsHigh(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, m := range []Method{LTT, RCPS} {
		found := 0
		for range 200 {
			s := Settings{Risk: 0.05, Confidence: 0.95, Method: m, Bound: 1, Starts: 5}
			if _, ok, err := Choose(Thresholds([]float32{0.1, 0.3, 0.5, 0.7, 0.9}), world(random, 500, 0, 0.06), s); err != nil {
				t.Fatal(err)
			} else if ok {
				found++
			}
		}
		if found > 20 { // 5% of 200, and three standard errors
			t.Errorf("%s: a threshold was found in %d of 200 draws, and there is none", m, found)
		}
	}
}

// TestClustersAreOneSample repeats every row ten times: as clusters that changes nothing, and as rows it would feign certainty.
func TestClustersAreOneSample(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, m := range []Method{LTT, RCPS, CRC} {
		s := Settings{Risk: 0.1, Confidence: 0.95, Method: m, Bound: 1, Starts: 5}
		one := world(random, 600, 1, 0.16)
		one.Binary = false
		var ten Rows
		ten.At = make([]Decisions, 1)
		for n, c := range one.Cluster {
			for range 10 {
				ten.Cluster = append(ten.Cluster, c)
				ten.At[0].Score, ten.At[0].Loss = append(ten.At[0].Score, one.At[0].Score[n]), append(ten.At[0].Loss, one.At[0].Loss[n])
			}
		}
		grid := Thresholds(one.At[0].Score)
		a, okA, errA := Choose(grid, one, s)
		b, okB, errB := Choose(grid, ten, s)
		if errA != nil || errB != nil || !okA || !okB || a.Threshold != b.Threshold || a.At[0].Samples != b.At[0].Samples {
			t.Errorf("%s: %+v %v, repeated %+v %v", m, a, errA, b, errB)
		}
	}
}

// TestEveryPriceMustPass: with a second price the threshold is the smaller one of both, whatever their order.
func TestEveryPriceMustPass(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	s := DefaultSettings()
	s.Risk, s.Starts = 0.1, 1
	a, b := world(random, 2000, 2, 0.9), world(random, 2000, 1, 0.5)
	grid := Thresholds(a.At[0].Score)[10:] // the first share at which so few rows can show anything
	both := a
	both.At = []Decisions{a.At[0], b.At[0]}
	ofA, _, _ := Choose(grid, a, s)
	ofB, _, _ := Choose(grid, b, s)
	c, ok, err := Choose(grid, both, s)
	if err != nil || !ok || c.Threshold != min(ofA.Threshold, ofB.Threshold) || ofA.Threshold == ofB.Threshold {
		t.Errorf("%v and %v, together %v (%v)", ofA.Threshold, ofB.Threshold, c.Threshold, err)
	}
}

func TestLossesAreInTheirUnit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1))
		s := DefaultSettings()
		s.Risk, s.Method = 0.1, rapid.SampledFrom([]Method{LTT, RCPS, CRC}).Draw(r, "method")
		a := world(random, 400, 2, 0.8)
		b := Rows{At: []Decisions{{Score: a.At[0].Score}}, Cluster: a.Cluster, Binary: true}
		for _, loss := range a.At[0].Loss {
			b.At[0].Loss = append(b.At[0].Loss, 8*loss)
		}
		grid := Thresholds(a.At[0].Score)
		one, okOne, _ := Choose(grid, a, s)
		s.Risk, s.Bound = 8*s.Risk, 8
		eight, okEight, err := Choose(grid, b, s)
		if err != nil || okOne != okEight || one.Threshold != eight.Threshold {
			r.Fatalf("%v and %v: %v", one, eight, err)
		}
		if okOne && math.Abs(eight.At[0].Risk-8*one.At[0].Risk) > 1e-9 {
			r.Fatalf("risks %v and %v", one.At, eight.At)
		}
	})
}

func TestWrongLosses(t *testing.T) {
	s := DefaultSettings()
	s.Risk = 0.1
	for _, loss := range []float64{-0.1, 1.5, math.NaN(), math.Inf(1)} {
		r := Rows{At: []Decisions{{[]float32{0, 0}, []float64{0, loss}}}, Cluster: []int{0, 1}}
		_, _, err := Choose([]float32{1}, r, s)
		var wrong *LossError
		if !errors.As(err, &wrong) || wrong.Row != 1 {
			t.Errorf("loss %v: %v", loss, err)
		}
	}
	for _, bad := range []Settings{{}, {Risk: 1, Confidence: 0.9, Method: LTT, Bound: 1, Starts: 1}, {Risk: 0.1, Confidence: 1, Method: LTT, Bound: 1, Starts: 1}, {Risk: 0.1, Confidence: 0.9, Method: "x", Bound: 1, Starts: 1}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}

func TestThresholds(t *testing.T) {
	var scores []float32
	for i := range 1000 {
		scores = append(scores, float32((i*7)%1000))
	}
	got := Thresholds(scores)
	if len(got) != 100 || got[0] != 9 || got[49] != 499 || got[98] != 989 || !math.IsInf(float64(got[99]), 1) {
		t.Errorf("%v", got)
	}
	if got := Thresholds([]float32{0.5, 0.5}); len(got) != 2 || got[0] != 0.5 {
		t.Errorf("equal scores: %v", got)
	}
	if got := Thresholds(nil); len(got) != 1 {
		t.Errorf("no scores: %v", got)
	}
}
