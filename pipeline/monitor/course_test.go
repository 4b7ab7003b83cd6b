package monitor

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// However many outcomes there are, the blocks stay few, and each has the mean and the variance of its outcomes.
func TestCourse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-5, 5), 0, 3000).Draw(t, "values")
		if n := rapid.IntRange(1, 6).Draw(t, "repeat"); len(values) > 0 {
			for range n {
				values = append(values, values...)
			}
		}
		var c course
		for i, v := range values {
			c.add(v, int64(i))
		}
		if err := c.check(int64(len(values))); err != nil {
			t.Fatal(err)
		}
		rest := values
		for i, b := range c.Blocks {
			own := rest[:b.N]
			rest = rest[b.N:]
			if i < len(c.Blocks)-1 && b.N != c.Every {
				t.Fatalf("block %d of %d has %d outcomes, not %d", i, len(c.Blocks), b.N, c.Every)
			}
			mean, variance := stat.PopMeanVariance(own, nil)
			if math.Abs(mean-b.Mean) > 1e-9 || math.Abs(variance-b.Away/float64(b.N)) > 1e-9 || b.Last != int64(len(values)-len(rest)-1) {
				t.Fatalf("block %d: %+v, mean %g, variance %g", i, b, mean, variance)
			}
		}
		if len(rest) > 0 || len(c.Blocks) > mostBlocks {
			t.Fatalf("%d blocks leave %d outcomes", len(c.Blocks), len(rest))
		}
		s := c.status(int64(len(values)))
		if len(s) > 0 && s[len(s)-1].Last != int64(len(values)) {
			t.Fatalf("the last block ends at %d of %d", s[len(s)-1].Last, len(values))
		}
	})
}

// A state whose blocks contradict each other is refused.
func TestCourseCheck(t *testing.T) {
	for _, c := range []course{
		{Every: 20, Blocks: []block{{N: 21}}},
		{Every: 20, Blocks: []block{{N: 0}}},
		{Every: 20, Blocks: []block{{N: 20}, {N: 11}}},
		{Every: 20, Blocks: []block{{N: 2, Away: -1}}},
		{Every: 20, Blocks: []block{{N: 2, Mean: math.Inf(1)}}},
		{Every: 1, Blocks: []block{{N: 1}}},
		{Every: 20, Blocks: make([]block, mostBlocks+1)},
	} {
		if c.check(30) == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
