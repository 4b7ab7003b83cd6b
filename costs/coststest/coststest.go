// Package coststest makes small cost tensors for tests.
package coststest

import (
	"fmt"
	"math/rand/v2"

	"pgregory.net/rapid"

	"pipe/costs"
)

// Actions names J experts and K+1 advice levels with the given fees.
func Actions(beta, gamma []float64) *costs.Actions {
	a := &costs.Actions{}
	for j, fee := range beta {
		a.Experts = append(a.Experts, costs.Expert{Name: string(rune('A' + j)), Fee: fee})
	}
	for k, fee := range gamma {
		a.Advice = append(a.Advice, costs.Advice{Name: string(rune('a' + k)), Fee: fee})
	}
	return a
}

// Tensor has one validation row per loss table, one feature (the row number) each.
func Tensor(a *costs.Actions, losses ...[]float32) *costs.Tensor {
	t := &costs.Tensor{Actions: a, Dim: 1}
	for n, row := range losses {
		t.IDs = append(t.IDs, string(rune('0'+n)))
		t.Splits = append(t.Splits, costs.Val)
		t.Features = append(t.Features, float32(n))
		t.Loss = append(t.Loss, row...)
	}
	return t
}

// Draw returns a tensor of some validation rows with random fees and losses, all
// of them eighths, which add exactly: ties are ties.
func Draw(t *rapid.T, rows int) *costs.Tensor {
	j, levels := rapid.IntRange(1, 4).Draw(t, "experts"), rapid.IntRange(1, 4).Draw(t, "levels")
	fee := rapid.Map(rapid.IntRange(0, 8), func(i int) float64 { return float64(i) / 8 })
	beta := rapid.SliceOfN(fee, j, j).Draw(t, "beta")
	gamma := rapid.SliceOfN(fee, levels, levels).Draw(t, "gamma")
	gamma[0] = 0
	tensor := Tensor(Actions(beta, gamma))
	loss := rapid.Map(rapid.IntRange(0, 8), func(i int) float32 { return float32(i) / 8 })
	for n := range rows {
		tensor.IDs = append(tensor.IDs, string(rune('0'+n)))
		tensor.Splits = append(tensor.Splits, costs.Val)
		tensor.Features = append(tensor.Features, float32(n))
		tensor.Loss = append(tensor.Loss, rapid.SliceOfN(loss, j*levels, j*levels).Draw(t, "loss")...)
	}
	return tensor
}

// Repeat returns a tensor with every row the given number of times under
// other ids.
func Repeat(t *costs.Tensor, times int) *costs.Tensor {
	var rows []int
	for n := range t.Len() {
		for range times {
			rows = append(rows, n)
		}
	}
	out := t.Subset(rows)
	for n := range out.IDs {
		out.IDs[n] = fmt.Sprint("copy ", n)
	}
	return out
}

// Floats are n draws of the standard normal distribution.
func Floats(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

// Users has users whose rows share a difficulty for either expert, half of them among the training rows;
// features have no information.
func Users(users, rows int, seed uint64) *costs.Tensor {
	r := rand.New(rand.NewPCG(seed, 8))
	t := &costs.Tensor{Dim: 2, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}},
	}}
	for u := range users {
		shift := float32(r.NormFloat64())
		for n := range rows {
			t.IDs, t.Groups = append(t.IDs, fmt.Sprint(u, "/", n)), append(t.Groups, fmt.Sprint("user ", u))
			t.Splits = append(t.Splits, []costs.Split{costs.Train, costs.Val}[n%2])
			t.Features = append(t.Features, float32(r.NormFloat64()), float32(r.NormFloat64()))
			t.Loss = append(t.Loss, 0, shift+0.1*float32(r.NormFloat64()))
		}
	}
	return t
}
