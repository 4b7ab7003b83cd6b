package auto

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// plantedCells is a law of few feature vectors, its cells, which are equally likely: an answer, one of five, and the
// confidence in it. In each, the experts fail with other probabilities.
type plantedCells struct {
	at     [][]float32
	chance [][3]float64
}

// drawCells draws a law in which the best constant costs at least 0.02 more than the best expert of every cell.
func drawCells(vectors int, seed uint64) plantedCells {
	for r := rand.New(rand.NewPCG(seed, 8)); ; {
		c := drawAnyCells(vectors, r)
		var constant [3]float64
		optimum := 0.0
		for _, chance := range c.chance {
			for e, p := range chance {
				constant[e] += p / float64(vectors)
			}
			optimum += slices.Min(chance[:]) / float64(vectors)
		}
		if slices.Min(constant[:]) >= optimum+0.02 {
			return c
		}
	}
}

// drawAnyCells draws a law. With the confidence, the chances of an answer move from one end to another.
func drawAnyCells(vectors int, r *rand.Rand) (c plantedCells) {
	const answers = 5
	levels := vectors / answers
	for answer := range answers {
		var ends [2][3]float64
		for e := range 3 {
			ends[0][e], ends[1][e] = 0.4*r.Float64(), 0.4*r.Float64()
		}
		for level := range levels {
			confidence := (float64(level) + 0.5) / float64(levels)
			at, chance := make([]float32, answers+1), [3]float64{}
			at[answer], at[answers] = 1, float32(confidence)
			for e := range chance {
				chance[e] = ends[0][e]*(1-confidence) + ends[1][e]*confidence
			}
			c.at, c.chance = append(c.at, at), append(c.chance, chance)
		}
	}
	return c
}

// table draws rows.
func (c plantedCells) table(rows int, seed uint64) *costs.Tensor {
	dim := len(c.at[0])
	t := &costs.Tensor{Dim: dim, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Advice: []costs.Advice{{Name: "none"}},
		Features: costs.FeatureSource{Name: "cells", Dim: dim},
	}}
	r := rand.New(rand.NewPCG(seed, 9))
	for n := range rows {
		cell := r.IntN(len(c.at))
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, costs.Train)
		t.Features = append(t.Features, c.at[cell]...)
		for e := range 3 {
			loss := float32(0)
			if r.Float64() < c.chance[cell][e] {
				loss = 1
			}
			t.Loss = append(t.Loss, loss)
		}
	}
	return t
}

// loss is the expected loss of a policy, and that of always asking the best expert of a cell.
func (c plantedCells) loss(t *testing.T, p *policy.Policy) (own, optimum float64) {
	t.Helper()
	out, err := decider(t, p).Decide(t.Context(), slices.Concat(c.at...), len(c.at))
	if err != nil {
		t.Fatal(err)
	}
	for cell := range c.at {
		own += c.chance[cell][out.Action[cell]] / float64(len(c.at))
		optimum += slices.Min(c.chance[cell][:]) / float64(len(c.at))
	}
	return own, optimum
}

// TestTiesAreNoCopies: where features have few values, the policy learns what every value asks for.
func TestTiesAreNoCopies(t *testing.T) {
	for _, vectors := range []int{5, 50} {
		cells := drawCells(vectors, 8)
		policies, r, err := Train(t.Context(), cells.table(3000, 8), []float64{1}, smallAuto(), models.Options{Runtime: orttest.Open(t, 0)})
		if err != nil {
			t.Fatal(err)
		}
		g := r[0].Guard
		own, optimum := cells.loss(t, policies[0])
		t.Logf("%d vectors: %.4f, the optimum %.4f; guard %+v; %+v", vectors, own, optimum, g, r[0].Ties)
		if g.Fallback || policies[0].Decoder == policy.DecoderFixed || own > optimum+0.02 {
			t.Errorf("%d vectors: %.4f is not near %.4f", vectors, own, optimum)
		}
		if r[0].Ties == nil || !r[0].Ties.Independent() || r[0].Ties.Distinct != vectors {
			t.Errorf("%d vectors: %+v", vectors, r[0].Ties)
		}
	}
}

// TestApartOverrides: the user can say what rows with equal features are.
func TestApartOverrides(t *testing.T) {
	train := drawCells(5, 8).table(300, 8)
	for apart, want := range map[bool]int{true: 300, false: 5} {
		s := smallAuto()
		s.Apart = &apart
		if got := train.Together(train.Rows(costs.Train), s.Apart).Len(); got != want {
			t.Errorf("apart %t: %d clusters, want %d", apart, got, want)
		}
	}
}
