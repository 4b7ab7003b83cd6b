package costs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// repeated returns a tensor whose rows repeat a few features and groups.
func repeated(t *rapid.T) *Tensor {
	n := rapid.IntRange(1, 60).Draw(t, "rows")
	tensor := testTensor(1, n, 2, testActions(1, 1))
	values := []float32{0, float32(math.Copysign(0, -1)), 1, 2, 3, 4, 5, 6, 7}
	kinds := rapid.IntRange(1, len(values)).Draw(t, "kinds")
	for i := range tensor.Features {
		tensor.Features[i] = values[rapid.IntRange(0, kinds-1).Draw(t, "value")]
	}
	if rapid.Bool().Draw(t, "no groups") {
		tensor.Groups = nil
		return tensor
	}
	for i := range tensor.Groups {
		tensor.Groups[i] = fmt.Sprint(rapid.IntRange(0, 3*n).Draw(t, "group"))
	}
	return tensor
}

func everyRow(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// Rows are in one cluster if and only if a chain of equal features and equal
// groups connects them.
func TestFeatureClustersAreChainsOfEqualRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := repeated(t)
		n := tensor.Len()
		joined := make([][]bool, n)
		for i := range n {
			joined[i] = make([]bool, n)
			for j := range n {
				joined[i][j] = slices.Equal(tensor.Row(i), tensor.Row(j)) || tensor.Groups != nil && tensor.Groups[i] == tensor.Groups[j]
			}
		}
		for k := range n { // closure
			for i := range n {
				for j := range n {
					joined[i][j] = joined[i][j] || joined[i][k] && joined[k][j]
				}
			}
		}
		c := tensor.Together(everyRow(n), new(bool))
		sizes := make([]int, c.Len())
		for i := range n {
			sizes[c.Of[i]]++
			for j := range n {
				if (c.Of[i] == c.Of[j]) != joined[i][j] {
					t.Fatalf("rows %d and %d: clusters %d and %d, joined is %t", i, j, c.Of[i], c.Of[j], joined[i][j])
				}
			}
		}
		if !cmp.Equal(sizes, c.Size) || c.Repeats() != n-len(sizes) || (c.IDs() == nil) != (c.Repeats() == 0) {
			t.Fatalf("sizes %v, counted %v, %d repeats", c.Size, sizes, c.Repeats())
		}
	})
}

func TestFeatureClustersTakeNegativeZeroForZero(t *testing.T) {
	tensor := testTensor(1, 2, 1, testActions(1, 1))
	tensor.Groups, tensor.Features = nil, []float32{0, float32(math.Copysign(0, -1))}
	if c := tensor.Together([]int{0, 1}, new(bool)); c.Len() != 1 {
		t.Errorf("0 and -0 are %d clusters", c.Len())
	}
}

// drawClusters draws clusters of many shapes: alone, pairs, giants.
func drawClusters(t *rapid.T) Clusters {
	n := rapid.IntRange(1, 120).Draw(t, "rows")
	kinds := rapid.IntRange(1, n).Draw(t, "kinds")
	giant := rapid.Float64Range(0, 1).Draw(t, "giant")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	keys := make([]int, n)
	for i := range keys {
		if keys[i] = r.IntN(kinds); r.Float64() < giant {
			keys[i] = -1
		}
	}
	return NewClusters(n, keys)
}

// Folds keep clusters whole, are all used, and differ in rows by no more than
// the largest cluster, and by one row where all are alone.
func TestFoldsKeepClustersWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawClusters(t)
		n := len(c.Of)
		folds := rapid.IntRange(1, 12).Draw(t, "folds")
		of := c.Folds(folds)
		if !cmp.Equal(of, c.Folds(folds)) {
			t.Fatal("folds differ from call to call")
		}
		want := min(folds, c.Len())
		rows, foldOf := make([]int, want), map[int]int{}
		for i, f := range of {
			rows[f]++
			if other, seen := foldOf[c.Of[i]]; seen && other != f {
				t.Fatalf("cluster %d is in folds %d and %d", c.Of[i], other, f)
			}
			foldOf[c.Of[i]] = f
		}
		if slices.Min(rows) == 0 {
			t.Fatalf("folds of %v rows from clusters of %v", rows, c.Size)
		}
		if slices.Max(rows)-slices.Min(rows) > slices.Max(c.Size) {
			t.Fatalf("folds of %v rows from clusters of %v", rows, c.Size)
		}
		// A giant takes a fold, and the others are level beside it.
		if others := slices.DeleteFunc(slices.Clone(c.Size), func(s int) bool { return s > 1 }); len(others) == c.Len()-1 && want > 2 {
			giant := slices.Max(c.Size)
			slices.Sort(rows)
			if rest := rows[:want-1]; giant*want >= n && rest[len(rest)-1]-rest[0] > 1 {
				t.Fatalf("folds of %v rows beside a cluster of %d", rows, giant)
			}
		}
	})
}

// Without repeats folds are equal parts of the rows.
func TestFoldsWithoutRepeatsAreParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "rows")
		folds := rapid.IntRange(1, min(n, 9)).Draw(t, "folds")
		want := make([]int, n)
		for f := range folds {
			for row := f * n / folds; row < (f+1)*n/folds; row++ {
				want[row] = f
			}
		}
		if got := NewClusters(n).Folds(folds); !cmp.Equal(got, want) {
			t.Fatalf("%d rows, %d folds: %v, want %v", n, folds, got, want)
		}
	})
}

// A share has whole clusters, some and not all, and close to the wanted rows
// where clusters are small.
func TestSharesKeepClustersWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawClusters(t)
		n := len(c.Of)
		if c.Len() < 2 {
			return
		}
		want := rapid.IntRange(1, n-1).Draw(t, "want")
		largest := rapid.IntRange(1, n).Draw(t, "largest")
		drawn := c.Share(want, largest)
		in, side := 0, map[int]bool{}
		for i, d := range drawn {
			if other, seen := side[c.Of[i]]; seen && other != d {
				t.Fatalf("cluster %d is on both sides", c.Of[i])
			}
			side[c.Of[i]] = d
			if d {
				in++
			}
		}
		if in == 0 || in == n {
			t.Fatalf("%d of %d rows drawn", in, n)
		}
		if in >= want+largest && in != slices.Min(c.Size) {
			t.Fatalf("%d rows drawn, %d wanted, clusters of up to %d", in, want, largest)
		}
		if c.Repeats() == 0 {
			for i, d := range drawn {
				if d != (i < want) {
					t.Fatalf("rows that are alone are not drawn in order")
				}
			}
		}
	})
}

func TestSharedCountsRowsThatAreElsewhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := repeated(t)
		train, val := tensor.Rows(Train), tensor.Rows(Val)
		wantFeatures, wantGroup := 0, 0
		for _, n := range val {
			if slices.ContainsFunc(train, func(m int) bool { return slices.Equal(tensor.Row(m), tensor.Row(n)) }) {
				wantFeatures++
			}
			if tensor.Groups != nil && slices.ContainsFunc(train, func(m int) bool { return tensor.Groups[m] == tensor.Groups[n] }) {
				wantGroup++
			}
		}
		if features, group := tensor.Shared(val, train, new(bool)); features != wantFeatures || group != wantGroup {
			t.Fatalf("%d and %d rows are shared, want %d and %d", features, group, wantFeatures, wantGroup)
		}
	})
}

// Where rows are read in batches and their features are not kept, the same rows belong together.
func TestSeenRowsAreJudgedAsInMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensor := repeated(t)
		values := rapid.IntRange(1, 5).Draw(t, "values of losses")
		for i := range tensor.Loss {
			if tensor.Loss[i] = float32(rapid.IntRange(0, values-1).Draw(t, "loss")); rapid.IntRange(0, 9).Draw(t, "unknown") == 0 {
				tensor.Loss[i] = float32(math.NaN())
			}
		}
		seen := NewSeen()
		batch := rapid.IntRange(1, 20).Draw(t, "batch")
		for part := range slices.Chunk(everyRow(tensor.Len()), batch) {
			seen.Add(tensor.Subset(part))
		}
		var rows []int
		for n := range tensor.Len() {
			if rapid.Bool().Draw(t, "asked") {
				rows = append(rows, n)
			}
		}
		if got, want := seen.Clusters(rows), tensor.Clusters(rows); !cmp.Equal(got, want) {
			t.Fatalf("%v, in memory %v", got, want)
		}
	})
}
