package regress

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs/coststest"
	"pipe/onnx/ort/orttest"
)

func TestNearestEqualsBruteForce(t *testing.T) {
	rt := orttest.Open(t, 0)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range []struct{ train, query, dim, k int }{{1, 3, 2, 1}, {300, 130, 5, 17}, {4100, 7, 3, 4100}, {5000, 150, 8, 60}} {
		train, query := coststest.Floats(rng, s.train*s.dim), coststest.Floats(rng, s.query*s.dim)
		got, err := nearest(context.Background(), rt, train, query, s.dim, s.k)
		if err != nil {
			t.Fatal(err)
		}
		for q := range s.query {
			near := got[q*s.k : (q+1)*s.k]
			checkNeighbours(t, near, train, query[q*s.dim:(q+1)*s.dim], s.dim)
		}
	}
}

// checkNeighbours: rows are distinct, distances ascend, and no other row is nearer than the last one, up to float32
// rounding.
func checkNeighbours(t *testing.T, near []int32, train, q []float32, dim int) {
	t.Helper()
	distance := func(row int) float64 {
		var d float64
		for c, v := range q {
			d += math.Pow(float64(v)-float64(train[row*dim+c]), 2)
		}
		return d
	}
	in := make(map[int]bool)
	last := 0.0
	for _, row := range near {
		d := distance(int(row))
		if d < last-1e-4 || in[int(row)] {
			t.Fatalf("row %d at %v after %v, seen before: %v", row, d, last, in[int(row)])
		}
		last, in[int(row)] = d, true
	}
	for row := range len(train) / dim {
		if !in[row] && distance(row) < last-1e-4 {
			t.Fatalf("row %d at %v is left out, the last neighbour is at %v", row, distance(row), last)
		}
	}
}

func TestSelectSmallestEqualsSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.Uint64(), 1, 60, rapid.ID).Draw(t, "keys")
		k := rapid.IntRange(0, len(keys)).Draw(t, "k")
		want := slices.Sorted(slices.Values(keys))[:k]
		selectSmallest(keys, k)
		if got := slices.Sorted(slices.Values(keys[:k])); !slices.Equal(got, want) {
			t.Fatalf("%d smallest are %v, want %v", k, got, want)
		}
	})
}

func TestDistanceKeysOrderLikeDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float32().Draw(t, "a"), rapid.Float32().Draw(t, "b")
		if a < b != (distanceKey(a, 9) < distanceKey(b, 0)) && a != b {
			t.Fatalf("%v and %v are ordered otherwise", a, b)
		}
		if got := keyDistance(distanceKey(a, 7)); got != a {
			t.Fatalf("%v comes back as %v", a, got)
		}
	})
}

func TestNearestTiesTakeTheSmallerRow(t *testing.T) {
	rt := orttest.Open(t, 0)
	train := make([]float32, 2*6000) // all the same point
	got, err := nearest(context.Background(), rt, train, make([]float32, 4), 2, 3)
	if err != nil || !slices.Equal(got, []int32{0, 1, 2, 0, 1, 2}) {
		t.Fatalf("neighbours %v, %v", got, err)
	}
}

func BenchmarkNearest(b *testing.B) {
	rt := orttest.Open(b, 0)
	for _, s := range []struct{ train, query, dim int }{{10000, 10000, 64}, {10000, 2000, 512}} {
		b.Run(fmt.Sprintf("train=%d/query=%d/dim=%d", s.train, s.query, s.dim), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			train, query := coststest.Floats(rng, s.train*s.dim), coststest.Floats(rng, s.query*s.dim)
			for b.Loop() {
				if _, err := nearest(context.Background(), rt, train, query, s.dim, 400); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
