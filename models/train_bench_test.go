package models

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"pipe/onnx/ort/orttest"
)

// benchShape is a training shape of the three benchmarks.
type benchShape struct {
	name            string
	rows, dim       int
	hidden          []int
	experts, advice int
	batch, steps    int
	decay           float64
}

var benchShapes = []benchShape{
	{"fever", 4096, 384, []int{128, 64}, 3, 5, 128, 1600, 1e-4},
	{"synthetic", 5120, 2, []int{32, 32}, 2, 2, 256, 4000, 0},
	{"clip", 4096, 512, []int{512, 256}, 3, 4, 256, 160, 1e-3},
}

func (b benchShape) problem() *Problem {
	r := rand.New(rand.NewPCG(1, 2))
	p := &Problem{Dim: b.dim, Experts: b.experts, Advice: b.advice, Gamma: make([]float64, b.advice)}
	for range b.rows * b.dim {
		p.Features = append(p.Features, float32(r.NormFloat64()))
	}
	for range b.rows * p.actions() {
		p.Target = append(p.Target, float32(r.IntN(2)))
	}
	return p
}

func (b benchShape) settings(head string) Settings {
	s := DefaultSettings()
	s.Hidden, s.Head, s.Batch = b.hidden, head, b.batch
	perEpoch := (b.rows + b.batch - 1) / b.batch
	s.Epochs = max(1, b.steps/perEpoch)
	return s
}

// BenchmarkTrain reports microseconds per optimiser step and model. The models
// are spread over one single-threaded session per core.
func BenchmarkTrain(b *testing.B) {
	rt := orttest.Open(b, 0)
	for _, shape := range benchShapes {
		for _, models := range []int{1, 2, 8, 20} {
			if shape.name == "clip" && models > 4 {
				continue
			}
			b.Run(fmt.Sprintf("%s/models=%d", shape.name, models), func(b *testing.B) {
				benchTrain(b, Options{Runtime: rt}, shape, models, "linear")
			})
		}
		b.Run(shape.name+"/low_rank/models=8", func(b *testing.B) {
			if shape.name == "clip" {
				b.Skip("covered by the linear head: the head is 1% of its work")
			}
			benchTrain(b, Options{Runtime: rt}, shape, 8, "low_rank")
		})
	}
}

func benchTrain(b *testing.B, o Options, shape benchShape, models int, head string) {
	p, s := shape.problem(), shape.settings(head)
	s.Workers = runtime.NumCPU()
	var specs []Spec
	for m := range models {
		specs = append(specs, Spec{Seed: uint64(m), Lambda: 1, LearningRate: 1e-3, WeightDecay: shape.decay, Tau: 1})
	}
	steps := s.Epochs * ((shape.rows + shape.batch - 1) / shape.batch)
	var spent time.Duration
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		if _, err := Train(context.Background(), p, specs, s, o); err != nil {
			b.Fatal(err)
		}
		spent += time.Since(start)
	}
	b.ReportMetric(float64(spent.Microseconds())/float64(b.N*steps*models), "us/step/model")
	b.ReportMetric(0, "ns/op")
}
