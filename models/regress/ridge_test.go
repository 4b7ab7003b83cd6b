package regress

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"pipe/models/estimate"
	"pipe/onnx/ort/orttest"
)

// drawn has rows whose losses are a linear function of the features plus noise.
func drawn(rows, dim, pairs int, seed uint64) *Data {
	rng := rand.New(rand.NewPCG(seed, 1))
	d := &Data{Dim: dim, Pairs: pairs}
	w := make([]float64, dim*pairs)
	for i := range w {
		w[i] = rng.NormFloat64()
	}
	for range rows {
		x := make([]float64, dim)
		for c := range x {
			x[c] = rng.NormFloat64() + 0.3
			d.X = append(d.X, float32(x[c]))
		}
		for i := range pairs {
			y := 2 + 0.1*rng.NormFloat64()
			for c, v := range x {
				y += w[c*pairs+i] * v
			}
			d.Y = append(d.Y, float32(y))
		}
	}
	return d
}

func count(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

// At the minimum of the penalised squares, the gradient is 0: X'(Xw + b - y) + penalty w = 0, and the residuals sum to 0.
func TestRidgeSolvesItsNormalEquations(t *testing.T) {
	for _, s := range []struct{ rows, fit, dim int }{{400, 300, 6}, {400, 100, 6}, {30, 20, 40}, {5000, 4000, 9}} {
		d := drawn(s.rows, s.dim, 3, uint64(s.dim))
		fit := count(s.rows-s.fit, s.rows)
		for _, penalty := range []float64{0.5, 30, 1e4} {
			parts, err := Ridge{[]float64{penalty}}.Fit(context.Background(), d, fit, []float64{1})
			if err != nil {
				t.Fatal(err)
			}
			l := parts[0].Estimator.(estimate.Linear)
			for pair := range 3 {
				gradient, sum, scale := make([]float64, s.dim), 0.0, 0.0
				for _, n := range fit {
					residual := float64(l.B[pair]) - float64(d.Losses(n)[pair])
					for c, v := range d.Row(n) {
						residual += float64(l.W[pair*s.dim+c]) * float64(v)
					}
					sum += residual
					scale += math.Abs(residual) + 1
					for c, v := range d.Row(n) {
						gradient[c] += residual * float64(v)
					}
				}
				for c := range gradient {
					if got := gradient[c] + penalty*float64(l.W[pair*s.dim+c]); math.Abs(got) > 1e-4*scale {
						t.Errorf("%v, penalty %g: gradient %g of feature %d", s, penalty, got, c)
					}
				}
				if math.Abs(sum) > 1e-4*scale {
					t.Errorf("%v, penalty %g: residuals sum to %g", s, penalty, sum)
				}
			}
		}
	}
}

// What a family estimates for held-out rows is what its fitted parts estimate, for weighted sums too.
func TestFitsEstimateAsTheirFamily(t *testing.T) {
	for _, f := range []Family{Ridge{[]float64{1, 10, 100}}, Neighbours{Runtime: orttest.Open(t, 0), K: []int{3, 20, 500}}, Neighbours{Runtime: orttest.Open(t, 0), K: []int{3, 20, 500}, Most: 50}} {
		sameAsFamily(t, f, []float64{0.3, 0, 0.5})
	}
}

// sameAsFamily compares the one part of a fit of three members with their cross-fitted estimates.
func sameAsFamily(t *testing.T, f Family, weights []float64) {
	t.Helper()
	d := drawn(260, 5, 4, 3)
	fit, held := count(0, 200), count(200, 260)
	folds, err := f.CrossFit(context.Background(), d, []Fold{{fit, held}})
	if err != nil {
		t.Fatal(err)
	}
	members := folds[0]
	parts, err := f.Fit(context.Background(), d, fit, weights)
	if err != nil || len(parts) != 1 || len(members) != len(f.Members()) {
		t.Fatalf("%d parts, %d members: %v", len(parts), len(members), err)
	}
	blend := estimate.Blend{Parts: parts}
	if err := blend.Check(5, 4); err != nil {
		t.Fatal(err)
	}
	got, x := make([]float64, 4), make([]float64, 5)
	for n, row := range held {
		for c, v := range d.Row(row) {
			x[c] = float64(v)
		}
		blend.Estimate(got, x)
		for i, v := range got {
			want := 0.0
			for m, w := range weights {
				want += w * float64(members[m][n*4+i])
			}
			if math.Abs(v-want) > 1e-4 {
				t.Fatalf("%v: row %d, pair %d: %g, want %g", f.Members(), row, i, v, want)
			}
		}
	}
}
