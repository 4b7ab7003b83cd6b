package costs

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// testActions returns experts e0.. and advice none, a1.. with fees that float64
// holds exactly.
func testActions(experts, advice int) *Actions {
	a := &Actions{}
	for j := range experts {
		a.Experts = append(a.Experts, Expert{fmt.Sprintf("e%d", j), float64(j) / 16})
	}
	a.Advice = []Advice{{Name: "none"}}
	for k := 1; k < advice; k++ {
		a.Advice = append(a.Advice, Advice{fmt.Sprintf("a%d", k), float64(k) / 32})
	}
	return a
}

// testTensor returns n rows of random values over the given actions.
func testTensor(seed uint64, n, dim int, a *Actions) *Tensor {
	r := rand.New(rand.NewPCG(seed, 1))
	t := &Tensor{Actions: a, Dim: dim}
	mask := a.Mask()
	for i := range n {
		t.IDs = append(t.IDs, fmt.Sprintf("row-%06d", i))
		t.Splits = append(t.Splits, Split(r.IntN(3)))
		t.Groups = append(t.Groups, fmt.Sprint("user ", r.IntN(n)))
		t.Labels = append(t.Labels, fmt.Sprint("class ", r.IntN(5)))
		for range dim {
			t.Features = append(t.Features, float32(r.NormFloat64()))
		}
		for i := range mask {
			loss := float32(r.IntN(2))
			if !mask[i] {
				loss = float32(math.NaN())
			}
			t.Loss = append(t.Loss, loss)
			t.Fee = append(t.Fee, float32(r.IntN(8))/64)
			for q := range Quantities {
				t.Usage[q] = append(t.Usage[q], float32(10-int(q)+r.IntN(2)))
			}
			t.Predictions = append(t.Predictions, fmt.Sprint("class ", r.IntN(5)))
		}
	}
	return t
}

// propensitiesFor returns propensities of a tensor without them: different ones, unknown in every row that one divides.
func propensitiesFor(t *Tensor, one int) []float64 {
	mask, all := t.Actions.Mask(), []float64(nil)
	for n := range t.Len() {
		sum := 0.0
		for i, ok := range mask {
			p := 0.0
			if ok {
				p = 1/float64(3+(n+i)%7) + 1e-9
			}
			sum += p
			all = append(all, p)
		}
		for i := range all[n*len(mask):] {
			at := n*len(mask) + i
			if all[at] /= sum; n%one == 0 {
				all[at] = math.NaN()
			}
		}
	}
	return all
}
