package decision

import (
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"
)

// source draws random numbers for exploration. It is safe for concurrent use.
type source struct {
	seed uint64 // 0: draws are not reproducible
	next atomic.Uint64
}

// draw returns a uniform number from 0 to units-1.
func (s *source) draw() uint64 {
	if s.seed == 0 {
		return rand.Uint64() >> 11
	}
	return mix(s.seed^mix(s.next.Add(1))) >> 11
}

// mix is the finaliser of SplitMix64, a permutation of the 64-bit words.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// share returns a number in [0, 1) that depends only on the two texts, so it is the same in later runs.
func share(purpose, text string) float64 {
	h := fnv.New64a()
	for _, s := range [2]string{purpose, text} {
		h.Write([]byte(s))
		h.Write([]byte{0xff}) // no byte of UTF-8, so it separates the texts
	}
	return float64(mix(h.Sum64())>>11) / units
}
