package auto

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// plantedCells is a table of few feature vectors, each with a best expert of its own, and what always asking that one costs
// and what always asking the same one costs at least.
func plantedCells(vectors, rows int) (t *costs.Tensor, optimum, constant float64) {
	t = &costs.Tensor{Dim: 2, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Advice: []costs.Advice{{Name: "none"}},
		Features: costs.FeatureSource{Name: "cells", Dim: 2},
	}}
	r := rand.New(rand.NewPCG(8, 8))
	at, best := make([][]float32, vectors), make([]int, vectors)
	for c := range at {
		at[c], best[c] = []float32{float32(r.NormFloat64()), float32(r.NormFloat64())}, c%3
	}
	cost := make([]float64, 3)
	for n := range rows {
		c := r.IntN(vectors)
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, costs.Train)
		t.Features = append(t.Features, at[c]...)
		for e := range 3 {
			chance := 0.25
			if e == best[c] {
				chance = 0.05
			}
			loss := float32(0)
			if r.Float64() < chance {
				loss = 1
			}
			t.Loss = append(t.Loss, loss)
			cost[e] += chance / float64(rows)
		}
	}
	return t, 0.05, min(cost[0], cost[1], cost[2])
}

// TestTiesAreNoCopies: where features have few values, the policy learns what every value asks for.
func TestTiesAreNoCopies(t *testing.T) {
	for _, vectors := range []int{5, 50} {
		train, optimum, constant := plantedCells(vectors, 3000)
		policies, r, err := Train(t.Context(), train, []float64{1}, smallAuto(), models.Options{Runtime: orttest.Open(t, 0)})
		if err != nil {
			t.Fatal(err)
		}
		g := r[0].Guard
		t.Logf("%d vectors: learned %.4f (optimum %.4f), constant %.4f; %+v", vectors, g.Learned, optimum, constant, r[0].Ties)
		if g.Fallback || policies[0].Decoder == policy.DecoderFixed || g.Learned > optimum+0.25*(constant-optimum) {
			t.Errorf("%d vectors: learned %.4f is not near %.4f, always the same expert is %.4f", vectors, g.Learned, optimum, constant)
		}
		if r[0].Ties == nil || !r[0].Ties.Independent() || r[0].Ties.Distinct != vectors {
			t.Errorf("%d vectors: %+v", vectors, r[0].Ties)
		}
	}
}

// TestApartOverrides: the user can say what rows with equal features are.
func TestApartOverrides(t *testing.T) {
	train, _, _ := plantedCells(5, 300)
	for apart, want := range map[bool]int{true: 300, false: 5} {
		s := smallAuto()
		s.Apart = &apart
		if got := train.Together(train.Rows(costs.Train), s.Apart).Len(); got != want {
			t.Errorf("apart %t: %d clusters, want %d", apart, got, want)
		}
	}
}
