package models

import (
	"math"

	"pipe/internal/seeded"
)

// initialisers are the known ways to initialise a network, by the name used in settings; fans are those of the layer of
// a parameter.
//
//	fan_in  uniform on +-1/sqrt(fan in), biases too (the default of PyTorch's Linear)
//	xavier  uniform with variance 2/(fan in + fan out), biases zero (Glorot and Bengio)
//	he      uniform with variance 2/(fan in), biases zero (He et al.)
var initialisers = []string{"fan_in", "xavier", "he"}

// param is one parameter of one model: a rows x cols matrix. In the training
// graph it is [S, rows, cols].
type param struct {
	name          string
	rows, cols    int
	bias          bool
	fanIn, fanOut int
}

func (p param) size() int { return p.rows * p.cols }

// draw fills a parameter. It depends only on the seed of the model and the name of the parameter, not on other
// parameters.
func (p param) draw(init string, seed uint64) []float32 {
	v := make([]float32, p.size())
	if p.bias && init != "fan_in" {
		return v
	}
	variance := 1 / (3 * float64(p.fanIn))
	switch init {
	case "xavier":
		variance = 2 / float64(p.fanIn+p.fanOut)
	case "he":
		variance = 2 / float64(p.fanIn)
	}
	limit := math.Sqrt(3 * variance) // a uniform on (-l, l) has variance l*l/3
	r := seeded.Stream(seed, "init/"+p.name, 0)
	for i := range v {
		v[i] = float32((2*r.Float64() - 1) * limit)
	}
	return v
}
