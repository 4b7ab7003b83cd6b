package tabular

import (
	"math"
	"math/big"
)

// exactSum is the sum of finite numbers without any rounding, so that it does not depend on their order: sums over parts
// of a table add up to the sum over the table. The value is the sum of limbs[i] x 2^(32 i - 1088).
type exactSum struct {
	Limbs   [exactLimbs]int64
	pending int // additions since the limbs were normalised
}

const (
	exactLimbs = 70   // from below the smallest number to above 2^64 times the largest
	exactBias  = 1088 // the exponent of the first limb, negated
	limbBits   = 32   // a limb has 31 more for carries
	mostAdds   = 1 << 30
)

// add adds a finite number.
func (s *exactSum) add(v float64) {
	if v == 0 {
		return
	}
	bits := math.Float64bits(v)
	exponent, mantissa := int(bits>>52&0x7ff), bits&(1<<52-1)
	if exponent == 0 {
		exponent = 1
	} else {
		mantissa |= 1 << 52
	}
	at := exponent - 1075 + exactBias // of the mantissa's last bit
	limb, shift := at/limbBits, uint(at%limbBits)
	low := mantissa << shift
	high := uint64(0)
	if shift > 0 {
		high = mantissa >> (64 - shift)
	}
	if v > 0 {
		s.Limbs[limb] += int64(low & 0xffffffff)
		s.Limbs[limb+1] += int64(low >> limbBits)
		s.Limbs[limb+2] += int64(high)
	} else {
		s.Limbs[limb] -= int64(low & 0xffffffff)
		s.Limbs[limb+1] -= int64(low >> limbBits)
		s.Limbs[limb+2] -= int64(high)
	}
	if s.pending++; s.pending == mostAdds {
		s.carry()
	}
}

// addSquare adds v x v without rounding it.
func (s *exactSum) addSquare(v float64) {
	square := v * v
	s.add(square)
	s.add(math.FMA(v, v, -square))
}

// carry makes every limb but the last one a number in [0, 2^32).
func (s *exactSum) carry() {
	for i := range exactLimbs - 1 {
		up := s.Limbs[i] >> limbBits
		s.Limbs[i] -= up << limbBits
		s.Limbs[i+1] += up
	}
	s.pending = 0
}

// merge adds another sum.
func (s *exactSum) merge(o *exactSum) {
	s.carry()
	o.carry()
	for i, v := range o.Limbs {
		s.Limbs[i] += v
	}
	s.carry()
}

// exactBits is the precision at which every sum, and the product of two, is exact.
const exactBits = 2 * (exactLimbs + 2) * limbBits

// value is the sum.
func (s *exactSum) value() *big.Float {
	s.carry()
	whole := new(big.Int)
	for i := exactLimbs - 1; i >= 0; i-- {
		whole.Lsh(whole, limbBits)
		whole.Add(whole, big.NewInt(s.Limbs[i]))
	}
	v := new(big.Float).SetPrec(exactBits).SetInt(whole)
	return v.SetMantExp(v, -exactBias)
}

// exactMoments are the number of values of a column and the exact sums of the values and of their squares.
type exactMoments struct {
	Count   int64
	Sum     exactSum
	Squares exactSum
}

// add adds a finite value.
func (m *exactMoments) add(v float64) {
	m.Count++
	m.Sum.add(v)
	m.Squares.addSquare(v)
}

func (m *exactMoments) merge(o *exactMoments) {
	m.Count += o.Count
	m.Sum.merge(&o.Sum)
	m.Squares.merge(&o.Squares)
}

// meanAndDeviation are the mean and the population standard deviation of the values and of gaps further ones that all
// equal fill. Each is rounded once.
func (m *exactMoments) meanAndDeviation(fill float64, gaps int64) (mean, deviation float64) {
	exact := func() *big.Float { return new(big.Float).SetPrec(exactBits) }
	n, g, f := exact().SetInt64(m.Count+gaps), exact().SetInt64(gaps), exact().SetFloat64(fill)
	filled := exact().Mul(g, f)
	sum := exact().Add(m.Sum.value(), filled)
	squares := exact().Add(m.Squares.value(), exact().Mul(filled, f))
	mean, _ = exact().Quo(sum, n).Float64()
	variance := exact().Sub(exact().Mul(n, squares), exact().Mul(sum, sum))
	v, _ := variance.Quo(variance, exact().Mul(n, n)).Float64()
	return mean, math.Sqrt(v)
}
