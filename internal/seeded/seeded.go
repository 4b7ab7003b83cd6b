// Package seeded makes the random streams of training and baselines. A stream depends only on its seed, its purpose and
// an index. So other draws, and their order, do not change it.
package seeded

import (
	"hash/fnv"
	"math/rand/v2"
)

// Stream is the random stream of one purpose and index (an epoch, a step).
func Stream(seed uint64, purpose string, index uint64) *rand.Rand {
	return rand.New(Source(seed, purpose, index))
}

// Source is [Stream] without the methods of rand.Rand: raw 64-bit words.
func Source(seed uint64, purpose string, index uint64) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.NewPCG(seed, h.Sum64()^(index*0x9e3779b97f4a7c15))
}
