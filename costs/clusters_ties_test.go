package costs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// cells has rows of few feature vectors, each with chances of its own that a pair fails, copied so many times. Of the
// copies, a share is measured again.
func cells(vectors, rows, copies int, again float64) *Tensor {
	t := testTensor(1, rows*copies, 1, testActions(2, 0))
	t.Groups = nil
	r := rand.New(rand.NewPCG(3, 5))
	for n := 0; n < t.Len(); n += copies {
		cell := r.IntN(vectors)
		for k := n; k < n+copies; k++ {
			t.Features[k] = float32(cell)
			for pair := range t.Losses(k) {
				t.Losses(k)[pair] = t.Losses(n)[pair]
				if k == n || r.Float64() < again {
					t.Losses(k)[pair] = 0
					if r.Float64() < 0.1+0.4*float64((cell+pair)%2) {
						t.Losses(k)[pair] = 1
					}
				}
			}
		}
	}
	return t
}

// continuous gives rows losses of many values, the same to copies, around a level for each feature vector.
func continuous(t *Tensor, copies int) *Tensor {
	r := rand.New(rand.NewPCG(7, 7))
	for n := range t.Len() {
		for pair := range t.Losses(n) {
			if first := n - n%copies; first < n {
				t.Losses(n)[pair] = t.Losses(first)[pair]
			} else {
				t.Losses(n)[pair] = float32(0.3 + 0.1*float64(int(t.Row(n)[0])%3) + 0.2*r.NormFloat64())
			}
		}
	}
	return t
}

// changed is a tensor with other features, losses or groups.
func changed(t *Tensor, change func(*Tensor)) *Tensor {
	change(t)
	return t
}

// jitter gives three rows each the same features, but for a little noise.
func jitter(t *Tensor) {
	r := rand.New(rand.NewPCG(9, 9))
	for i := range t.Features {
		t.Features[i] = float32(i/3) + 0.01*r.Float32()
	}
}

// TestTies: what rows with equal features are taken for, as the table in docs/train.md says.
func TestTies(t *testing.T) {
	const many = 1 << 23 // vectors, so that no two are equal by chance
	copies := "taken as copies"
	different := "taken as different instances"
	for name, c := range map[string]struct {
		t    *Tensor
		sets int
		says string
	}{
		"no equal features":                   {cells(many, 500, 1, 0), 500, ""},
		"ties, 5 vectors":                     {cells(5, 2000, 1, 0), 2000, "2000 rows, 5 distinct feature vectors: rows with equal features have different losses"},
		"ties, 50 vectors":                    {cells(50, 2000, 1, 0), 2000, different},
		"one vector":                          {cells(1, 100, 1, 0), 1, "no policy can tell them apart"},
		"two copies":                          {cells(many, 500, 2, 0), 500, copies},
		"20 copies":                           {cells(many, 50, 20, 0), 50, copies},
		"copies, some of them measured again": {cells(many, 300, 5, 0.05), 300, copies},
		"copies, all measured again with little noise": {changed(continuous(cells(many, 300, 3, 0), 3), func(t *Tensor) { t.blur(0.03) }), 300, copies},
		"partial copies": {changed(cells(many, 400, 1, 0), func(t *Tensor) { t.repeatFirst(100, 200) }), 300, copies},
		"copies among ties, losses of many kinds": {continuous(cells(5, 200, 3, 0), 3), 200, different},
		"copies among ties, losses 0 and 1":       {cells(5, 200, 3, 0), 600, different},
		"losses that features decide":             {changed(cells(5, 1000, 1, 0), func(t *Tensor) { t.decideLosses() }), 5, copies},
		"one input measured often with noise":     {cells(many, 50, 20, 1), 1000, different},
		"copies with jitter":                      {changed(cells(many, 200, 3, 0), jitter), 600, ""},
		"copies with jitter, in groups":           {changed(cells(many, 200, 3, 0), func(t *Tensor) { jitter(t); t.groupBy(3) }), 200, ""},
		"ties in groups":                          {changed(cells(5, 600, 1, 0), func(t *Tensor) { t.groupBy(3) }), 200, different},
		"copies in groups":                        {changed(cells(many, 200, 3, 0), func(t *Tensor) { t.groupBy(6) }), 100, copies},
	} {
		rows := everyRow(c.t.Len())
		x := c.t.Ties(rows)
		t.Logf("%s: %s (spread %.3f)", name, x.Text(), x.Spread)
		if got := c.t.Clusters(rows).Len(); got != c.sets || !strings.Contains(x.Text(), c.says) || c.says == "" && x.Text() != "" {
			t.Errorf("%s: %d sets, want %d; %+v, %q, want %q", name, got, c.sets, x, x.Text(), c.says)
		}
		seen := NewSeen()
		seen.Add(c.t)
		if got := seen.Clusters(rows).Len(); got != c.sets {
			t.Errorf("%s: %d sets of what was seen, want %d", name, got, c.sets)
		}
	}
}

// repeatFirst makes rows from one on copies of the first ones, up to another.
func (t *Tensor) repeatFirst(from, to int) {
	for n := from; n < to; n++ {
		copy(t.Row(n), t.Row(n-from))
		copy(t.Losses(n), t.Losses(n-from))
	}
}

// decideLosses makes losses a function of the features.
func (t *Tensor) decideLosses() {
	for n := range t.Len() {
		for pair := range t.Losses(n) {
			t.Losses(n)[pair] = float32((int(t.Row(n)[0]) + pair) % 3)
		}
	}
}

// blur adds noise to losses.
func (t *Tensor) blur(by float64) {
	r := rand.New(rand.NewPCG(11, 11))
	for i := range t.Loss {
		t.Loss[i] += float32(by * r.NormFloat64())
	}
}

// groupBy makes groups of the given number of rows.
func (t *Tensor) groupBy(rows int) {
	for n := range t.Len() {
		t.Groups = append(t.Groups, fmt.Sprint(n/rows))
	}
}

// TestApartOverridesLosses: the caller can say what rows with equal features are.
func TestApartOverridesLosses(t *testing.T) {
	for name, tensor := range map[string]*Tensor{"ties": cells(5, 300, 1, 0), "copies": cells(5, 100, 3, 0)} {
		for apart, want := range map[bool]int{true: 300, false: 5} {
			if got := tensor.Together(everyRow(300), &apart).Len(); got != want {
				t.Errorf("%s, apart %t: %d sets, want %d", name, apart, got, want)
			}
		}
	}
}

// TestRepeatNotesOfTies: ties are no copies of training rows, and reports say what was found.
func TestRepeatNotesOfTies(t *testing.T) {
	notes := func(tensor *Tensor, apart *bool) string {
		for n := range tensor.Len() {
			tensor.Splits[n] = Split(n % 2)
		}
		return strings.Join(RepeatNotes(RepeatsIn(tensor, apart, Train, Val)), "\n")
	}
	ties := notes(cells(5, 400, 1, 0), nil)
	if want := "train: 200 rows, 5 distinct feature vectors: rows with equal features have different losses"; !strings.Contains(ties, want) || strings.Contains(ties, "copies of") {
		t.Errorf("ties: %q", ties)
	}
	if same := new(bool); !strings.Contains(notes(cells(5, 400, 1, 0), same), "200 of 200 val rows are copies of a training row") {
		t.Error("with apart: false, they are copies")
	}
	if copies := notes(cells(1<<20, 200, 2, 0), nil); !strings.Contains(copies, "200 of 200 val rows are copies of a training row") {
		t.Errorf("copies: %q", copies)
	}
}

// TestCopiesBesideTies: in a table whose rows are mostly ties, a set whose losses are all equal stays together.
func TestCopiesBesideTies(t *testing.T) {
	tensor := cells(5, 200, 1, 0)
	for n := range 7 {
		tensor.Features[n] = 100
		copy(tensor.Losses(n), tensor.Losses(0))
	}
	if got := tensor.Clusters(everyRow(200)); got.Len() != 194 || got.Size[0] != 7 {
		t.Errorf("%d clusters, the first of %d rows", got.Len(), got.Size[0])
	}
}
