package costs

import (
	"math/rand/v2"
	"testing"
)

// cells has rows of few feature vectors, each with chances of its own that a pair fails, copied so many times. Of the
// copies, a share is measured again.
func cells(vectors, rows, copies int, again float64) *Tensor {
	t := testTensor(1, rows*copies, 1, testActions(2, 0))
	t.Groups = nil
	r := rand.New(rand.NewPCG(3, 5))
	for n := 0; n < t.Len(); n += copies {
		cell := r.IntN(vectors)
		for k := n; k < n+copies; k++ {
			t.Features[k] = float32(cell)
			for pair := range t.Losses(k) {
				t.Losses(k)[pair] = t.Losses(n)[pair]
				if k == n || r.Float64() < again {
					t.Losses(k)[pair] = 0
					if r.Float64() < 0.1+0.4*float64((cell+pair)%2) {
						t.Losses(k)[pair] = 1
					}
				}
			}
		}
	}
	return t
}

// TestTies: rows of few features whose losses differ are instances of their own, copies of many are not.
func TestTies(t *testing.T) {
	for name, c := range map[string]struct {
		t     *Tensor
		apart bool
	}{
		"5 vectors":                 {cells(5, 2000, 1, 0), true},
		"50 vectors":                {cells(50, 2000, 1, 0), true},
		"one vector":                {cells(1, 100, 1, 0), false},
		"two copies":                {cells(1<<20, 500, 2, 0), false},
		"20 copies":                 {cells(1<<20, 50, 20, 0), false},
		"copies, some of them anew": {cells(1<<20, 300, 5, 0.05), false},
	} {
		x := c.t.Ties(everyRow(c.t.Len()))
		t.Logf("%s: %s (spread %.3f)", name, x.Text(), x.Spread)
		clusters := c.t.Clusters(everyRow(c.t.Len()))
		if x.Independent() != c.apart || (clusters.Len() == c.t.Len()) != c.apart || !c.apart && clusters.Len() != x.Distinct {
			t.Errorf("%s: %d clusters, %+v, want apart %t", name, clusters.Len(), x, c.apart)
		}
	}
}

// TestCopiesBesideTies: in a table whose rows are mostly ties, a set whose losses are all equal stays together.
func TestCopiesBesideTies(t *testing.T) {
	tensor := cells(5, 200, 1, 0)
	for n := range 7 {
		tensor.Features[n] = 100
		copy(tensor.Losses(n), tensor.Losses(0))
	}
	if got := tensor.Clusters(everyRow(200)); got.Len() != 194 || got.Size[0] != 7 {
		t.Errorf("%d clusters, the first of %d rows", got.Len(), got.Size[0])
	}
}
