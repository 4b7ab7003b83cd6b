package tabular

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestExactSumsDoNotDependOnTheParts: however numbers are divided and ordered, their sums are the same and exact.
func TestExactSumsDoNotDependOnTheParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Float64Range(-1e77, 1e77), rapid.SampledFrom([]float64{
			0, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64 / 4, 1e-300, 1, -1, math.Nextafter(1, 2),
		})), 1, 60).Draw(t, "numbers")
		want := new(big.Float).SetPrec(5000)
		var whole exactSum
		parts := make([]exactSum, 4)
		for _, v := range numbers {
			want.Add(want, new(big.Float).SetFloat64(v))
			whole.add(v)
			parts[rapid.IntRange(0, 3).Draw(t, "part")].add(v)
		}
		var merged exactSum
		for i := range parts {
			merged.merge(&parts[len(parts)-1-i])
		}
		if whole.value().Cmp(want) != 0 || merged.value().Cmp(want) != 0 {
			t.Fatalf("%v and %v, want %v", whole.value(), merged.value(), want)
		}
		if whole.carry(); whole.Limbs != merged.Limbs {
			t.Fatal("equal sums with other limbs")
		}
	})
}

// TestMomentsAreThoseOfRationals: mean and deviation are the nearest numbers to those of exact fractions.
func TestMomentsAreThoseOfRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Float64Range(-1e8, 1e8), 1, 40).Draw(t, "numbers")
		gaps := rapid.Int64Range(0, 5).Draw(t, "gaps")
		fill := numbers[0]
		var m exactMoments
		n := new(big.Rat).SetInt64(int64(len(numbers)) + gaps)
		sum, squares := new(big.Rat), new(big.Rat)
		add := func(v float64) {
			x := new(big.Rat).SetFloat64(v)
			sum.Add(sum, x)
			squares.Add(squares, x.Mul(x, x))
		}
		for _, v := range numbers {
			m.add(v)
			add(v)
		}
		for range gaps {
			add(fill)
		}
		average := new(big.Rat).Quo(sum, n)
		wantMean, _ := average.Float64()
		variance := new(big.Rat).Quo(squares, n)
		wantVariance, _ := variance.Sub(variance, average.Mul(average, average)).Float64()
		mean, deviation := m.meanAndDeviation(fill, gaps)
		if mean != wantMean || deviation != math.Sqrt(wantVariance) {
			t.Fatalf("%v and %v, want %v and %v", mean, deviation, wantMean, math.Sqrt(wantVariance))
		}
	})
}
