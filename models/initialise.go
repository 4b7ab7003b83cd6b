package models

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// initKind names how a parameter starts.
type initKind uint8

const (
	initZero   initKind = iota
	initHe              // uniform, variance 2/fanIn: keeps the variance through ReLU
	initXavier          // uniform, variance 2/(fanIn+fanOut)
	initUnit            // uniform, variance 1: gates that multiply a representation
)

// param is one parameter of one model: a rows x cols matrix. In the training
// graph it is [S, rows, cols].
type param struct {
	name          string
	rows, cols    int
	init          initKind
	fanIn, fanOut int
}

func (p param) size() int { return p.rows * p.cols }

// draw fills a parameter from the model's seed and the parameter's name alone,
// so that what else is trained beside it does not matter.
func (p param) draw(seed uint64) []float32 {
	v := make([]float32, p.size())
	var variance float64
	switch p.init {
	case initZero:
		return v
	case initHe:
		variance = 2 / float64(p.fanIn)
	case initXavier:
		variance = 2 / float64(p.fanIn+p.fanOut)
	case initUnit:
		variance = 1
	}
	limit := math.Sqrt(3 * variance) // a uniform on (-l, l) has variance l*l/3
	r := stream(seed, "init/"+p.name, 0)
	for i := range v {
		v[i] = float32((2*r.Float64() - 1) * limit)
	}
	return v
}

// stream is the random stream of one purpose and index (an epoch, a step) of a
// model: a function of its arguments only.
func stream(seed uint64, purpose string, index uint64) *rand.Rand {
	return rand.New(pcg(seed, purpose, index))
}

func pcg(seed uint64, purpose string, index uint64) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.NewPCG(seed, h.Sum64()^(index*0x9e3779b97f4a7c15))
}
