package lexical

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// spectrum makes a symmetric matrix with given eigenvalues and random eigenvectors.
func spectrum(r *rand.Rand, values []float64) *mat.Dense {
	n := len(values)
	random := mat.NewDense(n, n, nil)
	for i := range n * n {
		random.Set(i/n, i%n, r.NormFloat64())
	}
	var qr mat.QR
	qr.Factorize(random)
	var q, out mat.Dense
	qr.QTo(&q)
	var scaled mat.Dense
	scaled.Mul(&q, mat.NewDiagDense(n, values))
	out.Mul(&scaled, q.T())
	return &out
}

func operatorOf(a *mat.Dense) operator {
	n, _ := a.Dims()
	return operator{n, func(_ context.Context, dst, src block) error {
		mat.NewDense(n, dst.width, dst.data).Mul(a, mat.NewDense(n, src.width, src.data))
		return nil
	}}
}

// The largest eigenvalues of matrices of several spectra, and vectors that are theirs.
func TestLargestEigenpairs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	spectra := map[string]func(i, n int) float64{
		"falling":   func(i, n int) float64 { return 1 / float64(1+i) },
		"flat":      func(i, n int) float64 { return 1 - 0.5*float64(i)/float64(n) },
		"one":       func(i, n int) float64 { return []float64{1, 0}[min(i, 1)] },
		"equal":     func(i, n int) float64 { return []float64{3, 2, 2, 2, 2, 1, 1, 1}[min(i, 7)] },
		"identity":  func(i, n int) float64 { return 1 },
		"zero":      func(i, n int) float64 { return 0 },
		"low rank":  func(i, n int) float64 { return max(0, 5-float64(i)) },
		"two sizes": func(i, n int) float64 { return math.Pow(1e6, float64(-i)/float64(n)) },
	}
	for name, at := range spectra {
		for _, n := range []int{1, 2, 7, 8, 9, 33, 150} {
			values := make([]float64, n)
			for i := range values {
				values[i] = at(i, n)
			}
			slices.Sort(values)
			slices.Reverse(values)
			a := spectrum(r, values)
			for _, count := range []int{1, (n + 3) / 4, n} {
				checkEigenpairs(t, name, a, values[:count])
			}
		}
	}
}

func checkEigenpairs(t *testing.T, name string, a *mat.Dense, want []float64) {
	t.Helper()
	n, _ := a.Dims()
	e, err := largest(t.Context(), operatorOf(a), len(want), 1, func(float64) {})
	if err != nil {
		t.Fatal(err)
	}
	if d := far(e.values, want); !(d <= 1e-12*max(1, want[0])) {
		t.Errorf("%s, %d of %d: eigenvalues are %g off", name, len(want), n, d)
	}
	v := mat.NewDense(n, len(want), e.vectors.data)
	var left, right, gram mat.Dense
	left.Mul(a, v)
	right.Mul(v, mat.NewDiagDense(len(want), e.values))
	left.Sub(&left, &right)
	if d := mat.Max(&left); !(d <= 1e-9*max(1, want[0])) {
		t.Errorf("%s, %d of %d: residual %g", name, len(want), n, d)
	}
	gram.Mul(v.T(), v)
	for c := range len(want) {
		gram.Set(c, c, gram.At(c, c)-1)
	}
	if d := mat.Norm(&gram, 2); !(d < 1e-12) {
		t.Errorf("%s, %d of %d: vectors are %g from orthonormal", name, len(want), n, d)
	}
}
