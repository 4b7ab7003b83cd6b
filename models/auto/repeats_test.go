package auto

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/models"
	"pipe/models/policy"
	"pipe/models/regress"
	"pipe/onnx/ort/orttest"
)

// smallAuto is a search that takes a second and still memorises what it can.
func smallAuto() Settings {
	s := DefaultSettings()
	s.Networks = []regress.Architecture{{Hidden: []int{128}, WeightDecay: 1e-3, LearningRate: 4e-3}}
	s.Neighbours = []int{1, 20} // one neighbour finds copies
	s.Steps, s.Seeds = 400, 1
	return s
}

// noise has losses that cannot be predicted.
func noise(rows int, seed uint64) *costs.Tensor { return flat.tensor(rows, costs.Train, seed, true) }

// TestRepeatedNoiseIsNoEvidence: a model that has seen copies of its held-out rows looks good on noise. Copies are
// recognised by their features, and near-duplicates by their group.
func TestRepeatedNoiseIsNoEvidence(t *testing.T) {
	draws := []struct {
		times  int
		jitter bool
	}{{6, false}, {6, true}, {2, false}, {3, true}, {10, false}, {10, true}, {20, false}}
	if testing.Short() {
		draws = draws[:2]
	}
	for _, d := range draws {
		t.Run(fmt.Sprintf("times=%d/jitter=%t", d.times, d.jitter), func(t *testing.T) {
			rows := 600 / d.times
			train := coststest.Repeat(noise(rows, uint64(d.times)), d.times)
			if d.jitter {
				r := rand.New(rand.NewPCG(1, 1))
				for i := range train.Features {
					train.Features[i] += float32(r.NormFloat64()) * 1e-4
				}
				for n := range train.IDs {
					train.Groups = append(train.Groups, fmt.Sprint("user ", n/d.times))
				}
			}
			policies, r, err := Train(context.Background(), train, []float64{0}, smallAuto(), models.Options{Runtime: orttest.Open(t, 0)})
			if err != nil {
				t.Fatal(err)
			}
			g := r[0].Guard
			t.Logf("gain %.3f, lower bound %.3f", g.Gain, g.LowerBound)
			if !g.Fallback || policies[0].Decoder != policy.DecoderFixed || g.Gain > 0.05 {
				t.Errorf("noise passes: gain %.3f, lower bound %.3f", g.Gain, g.LowerBound)
			}
			if g.Clusters != rows || r[0].Clusters != rows || g.Rows != train.Len() {
				t.Errorf("%d rows are %d clusters, and %d for the guard; want %d", g.Rows, r[0].Clusters, g.Clusters, rows)
			}
		})
	}
}

// TestGroupsOfOneChangeNothing: one group per row is the same as no groups.
func TestGroupsOfOneChangeNothing(t *testing.T) {
	s := smallAuto()
	s.Steps = 60
	train := structured.tensor(300, costs.Train, 1, true)
	plain, before, err := Train(context.Background(), train, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	train.Groups = slices.Clone(train.IDs)
	grouped, after, err := Train(context.Background(), train, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*policy.Policy{plain[0], grouped[0]} {
		delete(p.Info, policy.OriginKey) // tensors with and without groups have different digests
	}
	if exported(t, plain[0]) != exported(t, grouped[0]) || before[0].Guard.JSON() != after[0].Guard.JSON() {
		t.Errorf("guards %+v and %+v", before[0].Guard, after[0].Guard)
	}
}

// TestAutoOnDegenerateTables: on tables with too little data to evaluate, the result is the constant or an error about
// the data.
func TestAutoOnDegenerateTables(t *testing.T) {
	s := smallAuto()
	s.Steps = 40
	constant := func(t *costs.Tensor, columns ...int) {
		for n := range t.Len() {
			for _, c := range columns {
				t.Row(n)[c] = 0.5
			}
		}
	}
	for name, c := range map[string]struct {
		rows   int
		change func(*costs.Tensor)
		folds  int // of the report; -1: an error about the data
	}{
		"two rows":                {2, func(*costs.Tensor) {}, -1},
		"a constant feature":      {80, func(t *costs.Tensor) { constant(t, 3) }, 5},
		"constant features":       {80, func(t *costs.Tensor) { constant(t, 0, 1, 2, 3, 4, 5, 6, 7) }, 0},
		"one group":               {80, func(t *costs.Tensor) { t.Groups = slices.Repeat([]string{"all"}, 80) }, 0},
		"two groups":              {80, func(t *costs.Tensor) { t.Groups = slices.Repeat([]string{"a", "b"}, 40) }, 2},
		"three groups, a giant":   {80, func(t *costs.Tensor) { t.Groups = append([]string{"b", "c"}, slices.Repeat([]string{"a"}, 78)...) }, 3},
		"huge losses":             {80, func(t *costs.Tensor) { t.Loss[7] = 1e30 }, -1},
		"one label per row":       {80, func(t *costs.Tensor) { t.Labels = slices.Clone(t.IDs) }, 5},
		"one label and one group": {80, func(t *costs.Tensor) { t.Labels, t.Groups = slices.Repeat([]string{"x"}, 80), slices.Clone(t.IDs) }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			train := noise(c.rows, 3)
			c.change(train)
			for _, crossFit := range []int{40_000, 10} { // folds, and one inner split where there can be one
				s := s
				s.CrossFit = crossFit
				policies, reports, err := Train(context.Background(), train, []float64{0, 1}, s, models.Options{Runtime: orttest.Open(t, 0)})
				var data *costs.DataError
				if c.folds < 0 {
					if !errors.As(err, &data) {
						t.Fatalf("got %v, want an error about the data", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				want := c.folds
				if crossFit == 10 && want == 5 {
					want = 1
				}
				for l, r := range reports {
					if r.Folds != want || !r.Guard.Fallback || policies[l].Decoder != policy.DecoderFixed || (r.Guard.Rows == 0) != (want == 0) {
						t.Errorf("lambda %g: %d folds, want %d, guard %+v", r.Lambda, r.Folds, want, r.Guard)
					}
					if r.Guard.JSON() == "" || r.Guard.Fixed == "" {
						t.Error("the guard says nothing")
					}
				}
				if _, err := policies[0].Export(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestDivisionsKeepRowsTogether: with folds and with one inner split, no training row belongs together with a held-out
// row, and blocks are whole clusters that contain every held-out row once.
func TestDivisionsKeepRowsTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(10, 150).Draw(t, "rows")
		kinds := rapid.IntRange(1, n).Draw(t, "kinds")
		keys := make([]int, n)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 9))
		for i := range keys {
			keys[i] = r.IntN(kinds)
		}
		s := Settings{
			CrossFit: rapid.SampledFrom([]int{0, 1000}).Draw(t, "cross fit"),
			Folds:    rapid.IntRange(2, 6).Draw(t, "folds"), Inner: rapid.Float64Range(0.1, 0.6).Draw(t, "inner"),
		}
		clusters := costs.NewClusters(n, keys)
		var complete []int
		share := rapid.SampledFrom([]float64{1, 0.5}).Draw(t, "share")
		for row := range n {
			if r.Float64() < share {
				complete = append(complete, row)
			}
		}
		d := divide(clusters, r.Perm(n), complete, s)
		if clusters.Pick(complete).Len() < 2 {
			if d.folds != nil {
				t.Fatal("one cluster is divided")
			}
			return
		}
		var held []int
		for _, f := range d.folds {
			if len(f.Fit) == 0 || len(f.Held) == 0 {
				t.Fatalf("%d rows learn, %d judge", len(f.Fit), len(f.Held))
			}
			learns := map[int]bool{}
			for _, row := range f.Fit {
				learns[keys[row]] = true
			}
			for _, row := range f.Held {
				if learns[keys[row]] {
					t.Fatalf("cluster %d learns and judges", keys[row])
				}
			}
			held = append(held, f.Held...)
		}
		if !slices.Equal(held, d.held) {
			t.Fatalf("folds hold %v, blocks %v", held, d.held)
		}
		blockOf, at := map[int]int{}, 0
		for b, span := range d.blocks {
			if span.from != at || span.to <= at {
				t.Fatalf("block %d has rows %d to %d after %d", b, span.from, span.to, at)
			}
			at = span.to
			for _, row := range d.held[span.from:span.to] {
				if other, seen := blockOf[keys[row]]; seen && other != b {
					t.Fatalf("cluster %d is in blocks %d and %d", keys[row], other, b)
				}
				blockOf[keys[row]] = b
			}
		}
		if len(d.blocks) < 2 || at != len(d.held) || len(d.held) != len(slices.Compact(slices.Sorted(slices.Values(d.held)))) {
			t.Fatalf("%d blocks hold %d of %d rows", len(d.blocks), at, len(d.held))
		}
	})
}
