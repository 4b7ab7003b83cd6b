package models

import (
	"math/rand/v2"

	"pipe/internal/seeded"
)

// feed writes the inputs of a chunk of steps besides data and state. Everything depends only on the seed of the model
// and the step, so a chunk can start anywhere.
type feed struct {
	g     *group
	total int       // steps of the whole run
	order [][]int32 // per model, the rows in the order of epoch `epoch`
	epoch int
	scale []float32 // per model, the factor on the weights of its rows that makes their mean 1; nil without weights
}

func newFeed(g *group) *feed {
	f := &feed{g: g, total: g.settings.Epochs * g.perEpoch, epoch: -1, order: make([][]int32, len(g.rows))}
	for i, r := range g.rows {
		f.order[i] = make([]int32, len(r))
	}
	if weight := g.plan.problem.Weight; weight != nil {
		for _, rows := range g.rows {
			sum := 0.0
			for _, n := range rows {
				sum += float64(weight[n])
			}
			f.scale = append(f.scale, float32(float64(len(rows))/sum))
		}
	}
	return f
}

// shuffle puts every model's rows into the order of an epoch.
func (f *feed) shuffle(epoch int) {
	if f.epoch == epoch {
		return
	}
	for i, rows := range f.g.rows {
		copy(f.order[i], rows)
		permute(f.order[i], seeded.Source(f.g.plan.specs[i].Seed, "shuffle", uint64(epoch)))
	}
	f.epoch = epoch
}

// permute is a Fisher-Yates shuffle. A draw is the high half of a 32x32 bit product, whose bias (n / 2^32) is too small
// to matter for any number of epochs.
func permute(v []int32, r *rand.PCG) {
	for i := len(v) - 1; i > 0; i-- {
		j := (r.Uint64() >> 32) * uint64(i+1) >> 32
		v[i], v[j] = v[j], v[i]
	}
}

// chunk are the host views of the inputs of a call, T steps of S models.
type chunk struct {
	rows              []int64
	coef              []float32
	alpha, eps, decay []float32 // decay nil when unused
	slope             []float32 // nil unless tau changes
	drop              [][]float32
}

// fill writes steps first..first+steps-1.
func (f *feed) fill(c chunk, first, steps int) {
	s, b := len(f.g.rows), f.g.settings.Batch
	for t := range steps {
		step := first + t
		f.shuffle(step / f.g.perEpoch)
		from := step % f.g.perEpoch * b
		for m := range s {
			at := t*s + m
			f.minibatch(c.rows[at*b:(at+1)*b], c.coef[at*b:(at+1)*b], m, from)
			f.scalars(c, at, m, step)
			f.dropout(c, at, m, step)
		}
	}
}

// minibatch writes up to B rows of model m and 1/count as their weight, times
// that of the row. The rest of an epoch's last minibatch is padding of weight 0.
func (f *feed) minibatch(rows []int64, coef []float32, m, from int) {
	order := f.order[m]
	n := min(len(rows), len(order)-from)
	w := 1 / float32(n)
	for i := range n {
		rows[i] = int64(order[from+i])
		coef[i] = w
		if f.scale != nil {
			coef[i] *= f.scale[m] * f.g.plan.problem.Weight[order[from+i]]
		}
	}
	for i := n; i < len(rows); i++ {
		rows[i] = int64(order[0])
		coef[i] = 0
	}
}

func (f *feed) scalars(c chunk, at, m, step int) {
	spec := f.g.plan.specs[m]
	lr := spec.LearningRate * f.g.settings.rate(step, f.total)
	alpha, eps := adamScalars(lr, step)
	c.alpha[at], c.eps[at] = float32(alpha), float32(eps)
	if c.decay != nil {
		c.decay[at] = float32(1 - lr*spec.WeightDecay)
	}
	if c.slope != nil {
		c.slope[at] = float32(1 - f.g.settings.tau(spec.Tau, step, f.total))
	}
}

// dropout writes inverted dropout masks: 0 with the model's probability, else
// 1/(1-probability), from eight random bits per entry (probabilities are
// therefore rounded to 1/256, and the kept value to match).
func (f *feed) dropout(c chunk, at, m, step int) {
	if c.drop == nil {
		return
	}
	spec := f.g.plan.specs[m]
	r := seeded.Source(spec.Seed, "dropout", uint64(step))
	cut := uint64(spec.Dropout*256 + 0.5)
	var table [256]float32
	for i := range table {
		if uint64(i) >= cut {
			table[i] = 256 / float32(256-min(cut, 255))
		}
	}
	for l, h := range f.g.plan.net.hidden {
		n := h * f.g.settings.Batch
		mask := c.drop[l][at*n : (at+1)*n]
		for i := 0; i < n; i += 8 {
			bits := r.Uint64()
			for k := i; k < min(i+8, n); k++ {
				mask[k] = table[bits&255]
				bits >>= 8
			}
		}
	}
}
