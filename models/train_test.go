package models

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"pipe/models/network"
	"pipe/onnx/ort/orttest"
)

// smallProblem has structure in its first feature.
func smallProblem(rows int) *Problem {
	r := rand.New(rand.NewPCG(7, 9))
	p := &Problem{Dim: 3, Experts: 2, Advice: 3, Beta: []float64{0, 0.05}, Gamma: []float64{0, 0.05, 0.1}}
	for range rows {
		x := r.NormFloat64()
		p.Features = append(p.Features, float32(x), float32(r.NormFloat64()), float32(r.NormFloat64()))
		for i := range p.actions() {
			loss := 0.2 + 0.1*float64(i)
			if x > 0 {
				loss = 0.7 - 0.1*float64(i)
			}
			p.Target = append(p.Target, float32(loss))
		}
	}
	return p
}

func smallSettings() Settings {
	s := DefaultSettings()
	s.Hidden, s.Batch, s.Epochs, s.Workers = []int{8, 5}, 32, 6, 2
	return s
}

func smallSpecs(n int) []Spec {
	var specs []Spec
	for i := range n {
		specs = append(specs, Spec{
			Name: "m", Seed: uint64(i), Lambda: float64(i % 3), LearningRate: 0.01 * float64(1+i%2),
			WeightDecay: 0.01 * float64(i%2), Tau: 1 + 0.5*float64(i%3), Dropout: 0.25 * float64(i%2),
		})
	}
	return specs
}

func mustTrain(t *testing.T, p *Problem, specs []Spec, s Settings, o Options) []Trained {
	t.Helper()
	o.Runtime = orttest.Open(t, 0)
	out, err := Train(context.Background(), p, specs, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func largestDifference(a, b network.MLP) float64 {
	worst := 0.0
	for l := range a.Layers {
		for i := range a.Layers[l].W {
			worst = max(worst, math.Abs(float64(a.Layers[l].W[i]-b.Layers[l].W[i])))
		}
		for i := range a.Layers[l].B {
			worst = max(worst, math.Abs(float64(a.Layers[l].B[i]-b.Layers[l].B[i])))
		}
	}
	return worst
}

func TestTrainingLearns(t *testing.T) {
	p, s := smallProblem(600), smallSettings()
	s.Epochs = 40
	out := mustTrain(t, p, []Spec{{Seed: 1, LearningRate: 0.01, Tau: 1}}, s, Options{})
	first, last := out[0].Loss[0], out[0].Loss[len(out[0].Loss)-1]
	if len(out[0].Loss) != 40 || !(last < 0.9*first) {
		t.Fatalf("loss went from %g to %g in %d epochs", first, last, len(out[0].Loss))
	}
}

func TestLockstepEqualsAlone(t *testing.T) {
	p, s := smallProblem(100), smallSettings() // 100 rows: the last minibatch of an epoch is short
	specs := smallSpecs(8)
	specs[3].Mask = []bool{true, false, true, true, true, false}
	specs[5].Rows = allRows(100)[:97]
	s.Group = 8
	together := mustTrain(t, p, specs, s, Options{})
	for i, spec := range specs {
		alone := mustTrain(t, p, []Spec{spec}, s, Options{})
		if d := largestDifference(together[i].Network, alone[0].Network); d > 2e-5 {
			t.Errorf("model %d differs by %g from the one trained alone", i, d)
		}
	}
}

func TestTrainingIsDeterministic(t *testing.T) {
	p, s := smallProblem(100), smallSettings()
	a := mustTrain(t, p, smallSpecs(6), s, Options{})
	b := mustTrain(t, p, smallSpecs(6), s, Options{})
	if !reflect.DeepEqual(a, b) {
		t.Fatal("two runs differ")
	}
}

func TestCheckpointResumesToTheSameBits(t *testing.T) {
	p, s := smallProblem(100), smallSettings()
	s.Workers, s.Epochs = 1, 600 // more steps than one call of the runtime has
	specs := smallSpecs(3)
	specs = append(specs[:0:0], specs[1], specs[1], specs[1])
	specs[1].Seed, specs[2].Seed = 11, 12
	whole := mustTrain(t, p, specs, s, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Runtime: orttest.Open(t, 0), Save: CheckpointPolicy{Dir: t.TempDir()}, Progress: func(int) { cancel() }}
	if _, err := Train(ctx, p, specs, s, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	c, err := ReadCheckpoint(filepath.Join(o.Save.Dir, "group-0.ckpt"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Step != callSteps || c.Steps != 600*4 {
		t.Fatalf("checkpoint is at step %d of %d, want %d of 2400", c.Step, c.Steps, callSteps)
	}
	o.Progress = nil
	resumed, err := Train(t.Context(), p, specs, s, o)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(whole, resumed) {
		t.Fatal("resumed run differs from the undisturbed one")
	}
	specs[0].LearningRate *= 2
	if _, err := Train(t.Context(), p, specs, s, o); !errors.Is(err, ErrOtherCheckpoint) {
		t.Fatalf("another run's checkpoint was taken: %v", err)
	}
}

func TestDamagedCheckpointIsRefused(t *testing.T) {
	p, s := smallProblem(64), smallSettings()
	dir := t.TempDir()
	o := Options{Save: CheckpointPolicy{Dir: dir}}
	mustTrain(t, p, smallSpecs(1), s, o)
	path := filepath.Join(dir, "group-0.ckpt")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range len(good) {
		if cut%97 != 0 {
			continue
		}
		if err := os.WriteFile(path, good[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadCheckpoint(path); err == nil {
			t.Fatalf("a checkpoint cut at %d of %d bytes reads as complete", cut, len(good))
		}
	}
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCheckpoint(path); err == nil {
		t.Fatal("a flipped bit went unseen")
	}
}

func TestNonFiniteLossNamesStepSeedAndRegime(t *testing.T) {
	p, s := smallProblem(64), smallSettings()
	spec := Spec{Name: "wild", Seed: 5, Lambda: 2, LearningRate: 1e38, Tau: 1}
	_, err := Train(context.Background(), p, []Spec{spec}, s, Options{Runtime: orttest.Open(t, 0)})
	var bad *NonFiniteError
	if !errors.As(err, &bad) || bad.Spec.Seed != 5 || bad.Spec.Lambda != 2 {
		t.Fatalf("error is %v", err)
	}
}

func TestCancelledTrainingStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Train(ctx, smallProblem(64), smallSpecs(2), smallSettings(), Options{Runtime: orttest.Open(t, 0)})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
}

func TestMaskedActionIsNeverChosen(t *testing.T) {
	p, s := smallProblem(200), smallSettings()
	mask := []bool{true, false, true, false, true, true}
	for i := range p.Target { // make the masked ones the cheapest by far
		if !mask[i%6] {
			p.Target[i] = -5
		}
	}
	out := mustTrain(t, p, []Spec{{LearningRate: 0.01, Tau: 1, Mask: mask}}, s, Options{})
	for _, l := range out[0].Loss {
		if !(l < 3) { // allowed costs differ by less than 1; a masked one would give weights of 5
			t.Fatalf("loss %g shows weights of masked actions", l)
		}
	}
}

// TestTauWarmup checks the line from 1 to a model's tau, and that the first step of a warmed-up model is that of tau =
// 1.
func TestTauWarmup(t *testing.T) {
	s := smallSettings()
	s.TauWarmup = 0.5
	for step, want := range map[int]float64{0: 1, 25: 1.5, 50: 2, 99: 2} {
		if got := s.tau(2, step, 100); math.Abs(got-want) > 1e-12 {
			t.Errorf("tau at step %d is %g, want %g", step, got, want)
		}
	}
	p := smallProblem(200)
	train := func(tau, share float64, steps int) network.MLP {
		s.TauWarmup, s.Batch, s.Epochs = share, p.Len(), steps
		return mustTrain(t, p, []Spec{{Seed: 1, LearningRate: 0.01, Tau: tau}}, s, Options{})[0].Network
	}
	if d := largestDifference(train(2, 1, 1), train(1, 0, 1)); d > 1e-6 {
		t.Errorf("the first step of a warm-up is %g away from that of tau = 1", d)
	}
	if d := largestDifference(train(1, 1, 20), train(1, 0, 20)); d != 0 {
		t.Errorf("a warm-up moves a model of tau = 1 by %g", d)
	}
	if d := largestDifference(train(2, 1, 20), train(2, 0, 20)); d < 1e-3 {
		t.Errorf("a warm-up moves a model of tau = 2 by %g only", d)
	}
}
