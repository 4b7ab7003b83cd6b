package regress

import (
	"math"
	"slices"
)

// smallest keeps the k smallest distances of a long list. Candidates below the bound are collected until there are 2k.
// Selection then drops the larger half and lowers the bound. This is constant work per candidate, where a heap takes
// log k.
//
// A candidate is one number, with the distance in the high half in an encoding that sorts like the float, and the row
// in the low half. So equal distances are ordered by row, and a comparison is one instruction.
type smallest struct {
	k     int
	bound float32 // nothing at or above it can be among the k smallest
	keys  []uint64
}

func (s *smallest) reset(k int) {
	s.k, s.bound, s.keys = k, float32(math.Inf(1)), s.keys[:0]
}

// offer adds training rows, ascending from first. Rows arrive in order, so a distance that equals the bound belongs to
// a later row and loses the tie.
func (s *smallest) offer(products, norms []float32, first int) {
	norms = norms[:len(products)]
	for c, p := range products {
		if d := norms[c] - p; d < s.bound {
			s.keys = append(s.keys, distanceKey(d, first+c))
			if len(s.keys) == 2*s.k {
				s.shrink()
			}
		}
	}
}

func (s *smallest) shrink() {
	selectSmallest(s.keys, s.k)
	s.keys = s.keys[:s.k]
	s.bound = keyDistance(slices.Max(s.keys))
}

// drain writes the rows of the k smallest to dst, ascending.
func (s *smallest) drain(dst []int32) {
	selectSmallest(s.keys, s.k)
	slices.Sort(s.keys[:s.k])
	for i := range dst {
		dst[i] = int32(uint32(s.keys[i]))
	}
}

const signBit = 1 << 31

// distanceKey flips all bits of negative numbers and only the sign of the others: unsigned order is then the order of
// the floats.
func distanceKey(d float32, row int) uint64 {
	bits := math.Float32bits(d)
	if bits&signBit != 0 {
		bits = ^bits
	} else {
		bits |= signBit
	}
	return uint64(bits)<<32 | uint64(uint32(row))
}

func keyDistance(key uint64) float32 {
	bits := uint32(key >> 32)
	if bits&signBit != 0 {
		return math.Float32frombits(bits &^ signBit)
	}
	return math.Float32frombits(^bits)
}

// selectSmallest reorders distinct keys so that the k smallest come first:
// quickselect with the median of three as pivot.
func selectSmallest(keys []uint64, k int) {
	low, high := 0, len(keys)
	for high-low > 1 && k > low && k < high {
		pivot := medianOfThree(keys[low], keys[(low+high)/2], keys[high-1])
		i, j := low, high-1
		for i <= j {
			for keys[i] < pivot {
				i++
			}
			for keys[j] > pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i++
				j--
			}
		}
		switch { // low..j <= pivot <= i..high-1
		case k <= j+1:
			high = j + 1
		case k > i:
			low = i
		default:
			return
		}
	}
}

func medianOfThree(a, b, c uint64) uint64 {
	return max(min(a, b), min(max(a, b), c))
}
