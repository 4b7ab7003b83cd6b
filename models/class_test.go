package models

import (
	"math"
	"math/rand/v2"
	"testing"
)

// classes draws two overlapping classes in the plane, the second one rare.
func classes(n int) (features []float32, labels []int) {
	r := rand.New(rand.NewPCG(21, 4))
	for range n {
		y := 0
		if r.Float64() < 0.15 {
			y = 1
		}
		features = append(features, float32(r.NormFloat64()+1.2*float64(y)), float32(r.NormFloat64()-0.7*float64(y)))
		labels = append(labels, y)
	}
	return features, labels
}

// newton is weighted logistic regression by Newton's method: w, b of the
// log-odds of class 1.
func newton(x []float32, labels []int, weight []float64) [3]float64 {
	var beta [3]float64
	for range 30 {
		var grad [3]float64
		var hess [3][3]float64
		for n, y := range labels {
			row := [3]float64{float64(x[2*n]), float64(x[2*n+1]), 1}
			p := 1 / (1 + math.Exp(-(beta[0]*row[0] + beta[1]*row[1] + beta[2])))
			for i := range row {
				grad[i] += weight[n] * (p - float64(y)) * row[i]
				for j := range row {
					hess[i][j] += weight[n] * p * (1 - p) * row[i] * row[j]
				}
			}
		}
		step := solve3(hess, grad)
		for i := range beta {
			beta[i] -= step[i]
		}
	}
	return beta
}

// solve3 is Gaussian elimination on a positive definite system.
func solve3(a [3][3]float64, b [3]float64) [3]float64 {
	for i := range 3 {
		for r := i + 1; r < 3; r++ {
			f := a[r][i] / a[i][i]
			for c := i; c < 3; c++ {
				a[r][c] -= f * a[i][c]
			}
			b[r] -= f * b[i]
		}
	}
	for i := 2; i >= 0; i-- {
		for c := i + 1; c < 3; c++ {
			b[i] -= a[i][c] * b[c]
		}
		b[i] /= a[i][i]
	}
	return b
}

// TestLogisticRegressionEqualsNewton trains class-balanced logistic regression and compares it with the optimum found
// by Newton's method.
func TestLogisticRegressionEqualsNewton(t *testing.T) {
	x, y := classes(800)
	weight := BalancedWeights(y, 2)
	p, err := ClassProblem(x, 2, y, 2, weight)
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultSettings()
	s.Hidden, s.Head, s.Surrogate, s.Batch, s.Epochs, s.Schedule = nil, "linear", "weighted", 800, 800, "cosine"
	out := mustTrain(t, p, []Spec{{Seed: 1, LearningRate: 0.05, Tau: 1}}, s, Options{})
	l := out[0].Network.Layers[0]
	got := [3]float64{float64(l.W[2] - l.W[0]), float64(l.W[3] - l.W[1]), float64(l.B[1] - l.B[0])}
	want := newton(x, y, weight)
	for i := range got {
		if math.Abs(got[i]-want[i]) > 2e-3 {
			t.Fatalf("log-odds are %.4f, Newton finds %.4f", got, want)
		}
	}
}

// TestSampleWeightsAreRepeats: a row with weight 3 counts as three rows.
func TestSampleWeightsAreRepeats(t *testing.T) {
	x, y := classes(60)
	weight := make([]float64, len(y))
	var rx []float32
	var ry []int
	for n := range y {
		weight[n] = float64(1 + n%3)
		for range 1 + n%3 {
			rx, ry = append(rx, x[2*n:2*n+2]...), append(ry, y[n])
		}
	}
	weighted, err := ClassProblem(x, 2, y, 2, weight)
	if err != nil {
		t.Fatal(err)
	}
	repeated, err := ClassProblem(rx, 2, ry, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultSettings()
	s.Hidden, s.Head, s.Surrogate, s.Batch, s.Epochs = []int{6}, "linear", "weighted", 256, 30
	// Means over 60 and 120 rows: the gradients differ by the factor 2, which does not affect AdamW beyond its eps.
	a := mustTrain(t, weighted, []Spec{{Seed: 3, LearningRate: 0.02, Tau: 1}}, s, Options{})
	b := mustTrain(t, repeated, []Spec{{Seed: 3, LearningRate: 0.02, Tau: 1}}, s, Options{})
	if d := largestDifference(a[0].Network, b[0].Network); d > 1e-4 {
		t.Fatalf("weights and repeats differ by %g", d)
	}
}

// TestNetworkLearnsWhatALineCannot trains an MLP classifier on XOR.
func TestNetworkLearnsWhatALineCannot(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	var x []float32
	var y []int
	for range 500 {
		a, b := 2*r.Float64()-1, 2*r.Float64()-1
		label := 0
		if a*b > 0 {
			label = 1
		}
		x, y = append(x, float32(a), float32(b)), append(y, label)
	}
	p, err := ClassProblem(x, 2, y, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultSettings()
	s.Hidden, s.Head, s.Surrogate, s.Batch, s.Epochs = []int{24}, "linear", "weighted", 100, 150
	out := mustTrain(t, p, []Spec{{Seed: 2, LearningRate: 0.01, Tau: 1}}, s, Options{})
	right := 0
	for n, label := range y {
		scores := out[0].Network.Forward([]float64{float64(x[2*n]), float64(x[2*n+1])})
		if (scores[1] > scores[0]) == (label == 1) {
			right++
		}
	}
	if right < 475 {
		t.Fatalf("%d of 500 right", right)
	}
}

func TestClassProblemRefusesBadInput(t *testing.T) {
	x := []float32{1, 2, 3, 4}
	for name, f := range map[string]func() (*Problem, error){
		"label outside":   func() (*Problem, error) { return ClassProblem(x, 2, []int{0, 2}, 2, nil) },
		"negative weight": func() (*Problem, error) { return ClassProblem(x, 2, []int{0, 1}, 2, []float64{1, -1}) },
		"short weights":   func() (*Problem, error) { return ClassProblem(x, 2, []int{0, 1}, 2, []float64{1}) },
		"short features":  func() (*Problem, error) { return ClassProblem(x[:3], 2, []int{0, 1}, 2, nil) },
		"NaN feature": func() (*Problem, error) {
			return ClassProblem([]float32{1, 2, 3, float32(math.NaN())}, 2, []int{0, 1}, 2, nil)
		},
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
