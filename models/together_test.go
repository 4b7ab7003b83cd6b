package models

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
)

// repeatedWorld draws a table of two pairs in which rows have equal features for one reason or another. The gain of the
// second pair over the first has mean 0 over draws.
type repeatedWorld struct {
	rng  *rand.Rand
	rows [][]float32 // features
	loss [][]float32
	of   []string // groups; nil: none
}

// add adds a row with one feature, whose losses differ by gain in the mean.
func (w *repeatedWorld) add(feature, gain float64) {
	w.rows = append(w.rows, []float32{float32(feature)})
	w.loss = append(w.loss, []float32{float32(0.5 + 0.2*w.rng.NormFloat64()), float32(0.5 - gain + 0.2*w.rng.NormFloat64())})
}

// again adds a row that there is already, measured again with some noise.
func (w *repeatedWorld) again(row int, noise float64) {
	w.rows = append(w.rows, w.rows[row])
	l := w.loss[row]
	w.loss = append(w.loss, []float32{l[0] + float32(noise*w.rng.NormFloat64()), l[1] + float32(noise*w.rng.NormFloat64())})
}

// coin is a loss of 0 or 1.
func (w *repeatedWorld) coin(feature, right, better float64) {
	w.rows = append(w.rows, []float32{float32(feature)})
	toss := func(p float64) float32 {
		if w.rng.Float64() < p {
			return 0
		}
		return 1
	}
	w.loss = append(w.loss, []float32{toss(right), toss(better)})
}

func (w *repeatedWorld) tensor() *costs.Tensor {
	t := coststest.Tensor(coststest.Actions([]float64{0, 0}, []float64{0}), w.loss...)
	t.Dim, t.Features = 1, nil
	for _, row := range w.rows {
		t.Features = append(t.Features, row...)
	}
	t.Groups = w.of
	return t
}

// repeatedWorlds are the reasons for equal features. In each the gain of a row is 0 in the mean over the law of the world.
var repeatedWorlds = map[string]func(w *repeatedWorld){
	"no repeats": func(w *repeatedWorld) {
		for range 300 {
			w.add(w.rng.NormFloat64(), 0.1*w.rng.NormFloat64())
		}
	},
	"ties": func(w *repeatedWorld) {
		for range 400 {
			k := w.rng.IntN(20)
			w.add(float64(k), 0.1*float64(k%2*2-1))
		}
	},
	"ties of losses 0 and 1": func(w *repeatedWorld) {
		for range 400 {
			k := w.rng.IntN(20)
			w.coin(float64(k), 0.6+0.2*float64(k%2), 0.8-0.2*float64(k%2))
		}
	},
	"pairs of losses 0 and 1": func(w *repeatedWorld) {
		for range 200 {
			k := w.rng.NormFloat64()
			w.coin(k, 0.6, 0.6)
			w.coin(k, 0.6, 0.6)
		}
	},
	"ties of eighths": func(w *repeatedWorld) {
		for range 400 {
			k := w.rng.IntN(20)
			w.rows = append(w.rows, []float32{float32(k)})
			w.loss = append(w.loss, []float32{float32(w.rng.IntN(9)) / 8, float32(w.rng.IntN(9)) / 8})
		}
	},
	"copies": func(w *repeatedWorld) {
		for range 120 {
			w.add(w.rng.NormFloat64(), 0.3*w.rng.NormFloat64())
			for first := len(w.rows) - 1; w.rng.IntN(4) > 0; {
				w.again(first, 0)
			}
		}
	},
	"copies, measured again": func(w *repeatedWorld) {
		for range 120 {
			w.add(w.rng.NormFloat64(), 0.3*w.rng.NormFloat64())
			for first := len(w.rows) - 1; w.rng.IntN(4) > 0; {
				w.again(first, 0.02)
			}
		}
	},
	"some copies": func(w *repeatedWorld) {
		for i := range 200 {
			w.add(w.rng.NormFloat64(), 0.3*w.rng.NormFloat64())
			if i%3 == 0 {
				w.again(len(w.rows)-1, 0)
			}
		}
	},
	"copies among ties": func(w *repeatedWorld) {
		for i := range 200 {
			k := w.rng.IntN(20)
			w.add(float64(k), 0.1*float64(k%2*2-1)+0.3*w.rng.NormFloat64())
			for first := len(w.rows) - 1; i%4 == 0 && len(w.rows)-first < 6; {
				w.again(first, 0)
			}
		}
	},
	"groups": func(w *repeatedWorld) {
		for g := range 60 {
			shared := 0.3 * w.rng.NormFloat64()
			for range 2 + w.rng.IntN(8) {
				w.add(w.rng.NormFloat64(), shared)
				w.of = append(w.of, fmt.Sprint(g))
			}
		}
	},
}

// TestIntervalsCoverByJudgement: where the losses tell what rows with equal features are, the 95% interval of a gain covers
// it in 93 to 97% of the draws.
func TestIntervalsCoverByJudgement(t *testing.T) {
	draws := 1000
	if testing.Short() {
		draws = 100
	}
	for name, draw := range repeatedWorlds {
		covered, joined := 0, 0
		for seed := range uint64(draws) {
			w := &repeatedWorld{rng: rand.New(rand.NewPCG(seed, 77))}
			draw(w)
			table := w.tensor()
			rows := make([]int, table.Len())
			gain := make([]float64, table.Len())
			for n := range rows {
				rows[n], gain[n] = n, float64(table.Losses(n)[0]-table.Losses(n)[1])
			}
			together := table.Clusters(rows)
			joined += together.Repeats()
			v, err := StudentInterval(gain, together.IDs(), 0.95, 0)
			if err != nil {
				t.Fatal(err)
			}
			if v.Low <= 0 && 0 <= v.High {
				covered++
			}
		}
		share := float64(covered) / float64(draws)
		t.Logf("%s: covers %.3f; %.0f rows joined a draw", name, share, float64(joined)/float64(draws))
		if least, most := 0.93, 0.97; !testing.Short() && (share < least || share > most) {
			t.Errorf("%s: 95%% intervals cover %.3f, want %g to %g", name, share, least, most)
		}
	}
}
