package bench

import (
	"context"
	"math"
	"testing"

	"pipe/costs"
	"pipe/internal/world"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/stage"
)

// TestSyntheticReachesItsLimits runs the synthetic benchmark at the size of the table and compares every learned method
// with its population limit.
func TestSyntheticReachesItsLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("compares figures; TestFraudEndToEnd runs the same code in the short form")
	}
	rt := orttest.Open(t, 1)
	c := defaultSynthetic()
	r := &syntheticRun{
		c: c, rt: rt,
		train: world.SyntheticTensor(5000, costs.Train, c.DataSeed, true),
		test:  world.SyntheticTensor(c.Test, costs.Test, c.DataSeed, false),
	}
	rows := r.test.Rows(costs.Test)
	r.bayes = r.test.TrueLoss(rows, r.bayesActions(rows), world.SyntheticLambda)
	for _, want := range []struct {
		method    string
		low, high float64 // of the mean true loss over five seeds
		match     float64
	}{
		{"ours", 0.27, 0.286, 0.97},
		{"separated", 0.325, 0.36, 0},
		{"l2d", 0.338, 0.346, 0},
	} {
		s := &syntheticResult{method: want.method, n: 5000}
		if err := r.trainOne(context.Background(), s, stage.Quiet); err != nil {
			t.Fatal(err)
		}
		var actions [][]int
		for _, l := range s.learned {
			actions = append(actions, l.Action)
		}
		row := r.row(want.method, 5000, actions)
		t.Logf("%s: true loss %.4f +- %.4f, match %.3f", want.method, row.TrueLossMean, *row.TrueLossStd, *row.BayesMatch)
		if row.TrueLossMean < want.low || row.TrueLossMean > want.high || *row.BayesMatch < want.match {
			t.Errorf("%s: true loss %.4f outside [%g, %g] or match %.3f below %g", want.method, row.TrueLossMean, want.low, want.high, *row.BayesMatch, want.match)
		}
	}
}

func TestSyntheticLawIsThePapers(t *testing.T) {
	// F(u, v) = u ln((u+v)/u) + v ln((u+v)/v): the profiled row summaries by
	// which the separated surrogate prefers the wrong expert on the left.
	f := func(u, v float64) float64 { return u*math.Log((u+v)/u) + v*math.Log((u+v)/v) }
	cost := func(region, i int) float64 { return world.SyntheticMeans[region][i] + 0.08*float64(i%2) }
	if a, b := f(cost(0, 0), cost(0, 1)), f(cost(0, 2), cost(0, 3)); math.Abs(a-0.8371) > 5e-5 || math.Abs(b-0.7000) > 5e-5 {
		t.Errorf("F of the left rows is %.4f and %.4f, want 0.8371 and 0.7000", a, b)
	}
	for region, best := range world.SyntheticBest {
		for i := range 4 {
			if i != best && cost(region, i) <= cost(region, best) {
				t.Errorf("region %d: pair %d is no dearer than the Bayes pair %d", region, i, best)
			}
		}
	}
}

// TestSyntheticDrawsAreNested: a smaller training set is the head of a larger
// one, and realised means approach the law.
func TestSyntheticDrawsAreNested(t *testing.T) {
	small, large := world.SyntheticTensor(50, costs.Train, 3, true), world.SyntheticTensor(20_000, costs.Train, 3, true)
	for i, v := range small.Loss {
		if v != large.Loss[i] {
			t.Fatalf("loss %d differs between draws of 50 and 20,000", i)
		}
	}
	var sum [2][4]float64
	var n [2]float64
	for k := range large.Len() {
		g := world.SyntheticRegion(large.Row(k))
		n[g]++
		for i, v := range large.Losses(k) {
			sum[g][i] += float64(v)
		}
	}
	for g := range sum {
		for i := range sum[g] {
			if mean := sum[g][i] / n[g]; math.Abs(mean-world.SyntheticMeans[g][i]) > 0.02 {
				t.Errorf("region %d, pair %d: mean loss %.3f, law %.3f", g, i, mean, world.SyntheticMeans[g][i])
			}
		}
	}
}
