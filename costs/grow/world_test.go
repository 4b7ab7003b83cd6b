package grow

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/internal/storage"
)

// actionsOf has experts e0.. and advice none, a1.. with fees.
func actionsOf(experts, advice int) *costs.Actions {
	a := &costs.Actions{Features: costs.FeatureSource{Name: "numbers"}, Digests: map[string]string{costs.FeatureDigest: "f", "table": "t"}}
	for j := range experts {
		a.Experts = append(a.Experts, costs.Expert{Name: fmt.Sprint("e", j), Fee: float64(j) / 16})
	}
	a.Advice = []costs.Advice{{Name: "none"}}
	for k := 1; k < advice; k++ {
		a.Advice = append(a.Advice, costs.Advice{Name: fmt.Sprint("a", k), Fee: float64(k) / 32})
	}
	return a
}

// tensorOf has n rows of random values, with every optional column.
func tensorOf(seed uint64, n, dim int, a *costs.Actions) *costs.Tensor {
	r := rand.New(rand.NewPCG(seed, 7))
	t := &costs.Tensor{Actions: a, Dim: dim, Meta: map[string]string{"made by": "a test"}}
	mask := a.Mask()
	for i := range n {
		t.IDs = append(t.IDs, fmt.Sprintf("row-%06d", i))
		t.Splits = append(t.Splits, costs.Split(r.IntN(3)))
		t.Groups = append(t.Groups, fmt.Sprint("user ", r.IntN(n)))
		t.Times = append(t.Times, r.Int64N(1<<50))
		t.Labels = append(t.Labels, fmt.Sprint("class ", r.IntN(5)))
		for range dim {
			t.Features = append(t.Features, float32(r.NormFloat64()))
		}
		for p := range mask {
			loss := float32(r.IntN(9)) / 8
			if !mask[p] {
				loss = float32(math.NaN())
			}
			t.Loss = append(t.Loss, loss)
			t.Fee = append(t.Fee, float32(r.IntN(8))/64)
			for q := range costs.Quantities {
				used := float32(10 - q + costs.Quantity(r.IntN(2)))
				if r.IntN(9) == 0 {
					used = nan
				}
				t.Usage[q] = append(t.Usage[q], used)
			}
			t.Predictions = append(t.Predictions, fmt.Sprint("class ", r.IntN(5)))
			t.Propensity = append(t.Propensity, propensityOf(r, p, len(mask)))
		}
	}
	t.Facts = factsOfTensor(r, len(t.Loss))
	return t
}

// factsOfTensor are a number and two categories, of which some is not known; every row has other labels.
func factsOfTensor(r *rand.Rand, cells int) []costs.Facts {
	facts := []costs.Facts{costs.NewFacts(costs.Fact{Name: "confidence"}, cells)}
	for _, name := range []string{"finish", "label"} {
		facts = append(facts, costs.NewFacts(costs.Fact{Name: name, Values: []string{}}, cells))
	}
	finish, label := costs.NewFactBuilder(&facts[1]), costs.NewFactBuilder(&facts[2])
	for i := range cells {
		if r.IntN(4) > 0 {
			facts[0].Data[i] = r.Float32()
		}
		finish.SetText(i, []string{"stop", "length"}[r.IntN(2)])
		if r.IntN(4) > 0 {
			label.SetText(i, fmt.Sprint("class ", r.IntN(cells)))
		}
	}
	finish.Sort()
	label.Sort()
	return facts
}

// propensityOf draws the probability of a pair. That of the first is never known, so that the others may have any sum.
func propensityOf(r *rand.Rand, pair, pairs int) float64 {
	p := r.Float64()
	if pair == 0 || p < 0.3 {
		return math.NaN()
	}
	return p / float64(pairs)
}

// draw draws a tensor of any shape, with or without each optional column.
func draw(t *rapid.T) *costs.Tensor {
	a := actionsOf(rapid.IntRange(1, 4).Draw(t, "experts"), rapid.IntRange(1, 3).Draw(t, "advice"))
	for i := 1; i < a.Len(); i++ {
		if rapid.IntRange(0, 5).Draw(t, "gap") == 0 {
			j, k := a.Pair(i)
			a.Unavailable = append(a.Unavailable, costs.Pair{Expert: j, Advice: k})
		}
	}
	tensor := tensorOf(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(2, 150).Draw(t, "rows"), rapid.IntRange(1, 5).Draw(t, "dim"), a)
	for _, c := range optional {
		if rapid.IntRange(0, 3).Draw(t, "without "+c.name) == 0 {
			c.drop(tensor)
		}
	}
	tensor.Facts = tensor.Facts[rapid.IntRange(0, len(tensor.Facts)).Draw(t, "without facts"):]
	if rapid.Bool().Draw(t, "unknown outcomes") {
		for i := 0; i < len(tensor.Loss); i += 7 {
			tensor.Loss[i] = float32(math.NaN())
		}
	}
	return tensor
}

var nan = float32(math.NaN())

func all(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// writer writes tensors into files of a folder.
type writer struct{ dir string }

func newWriter(t testing.TB) writer { return writer{t.TempDir()} }

func (w writer) path(name string) string { return filepath.Join(w.dir, name) }

func (w writer) write(t interface{ Fatal(...any) }, name string, tensor *costs.Tensor) string {
	path := w.path(name)
	if err := costs.Write(context.Background(), storage.File(path), tensor); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t interface{ Fatal(...any) }, path string) *costs.Tensor {
	tensor, err := costs.Read(context.Background(), storage.File(path), costs.ReadOptions{Unknown: true})
	if err != nil {
		t.Fatal(err)
	}
	return tensor
}

func bytesOf(t interface{ Fatal(...any) }, path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// difference compares tensors, without the list of parts.
func difference(a, b *costs.Tensor) string {
	strip := cmpopts.IgnoreMapEntries(func(key, _ string) bool { return key == partsKey })
	return cmp.Diff(a, b, cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), strip)
}

// Every case writes a few files to disk, so there are fewer of them than by
// default; -rapid.checks asks for more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
