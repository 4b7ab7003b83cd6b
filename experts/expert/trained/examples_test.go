package trained

import "testing"

// TestLevelsAreDrawnUniformly looks at the draw over neighbouring rows and seeds.
func TestLevelsAreDrawnUniformly(t *testing.T) {
	const rows, levels = 20_000, 5
	for seed := range uint64(3) {
		var count [levels]int
		var pairs [levels][levels]int
		for n := range rows {
			l := drawLevel(seed, n, levels)
			count[l]++
			pairs[l][drawLevel(seed, n+1, levels)]++
		}
		for l := range levels {
			// Five standard deviations of a binomial count are 283 and 139.
			if d := count[l] - rows/levels; d < -283 || d > 283 {
				t.Errorf("seed %d: level %d was drawn %d times of %d", seed, l, count[l], rows)
			}
			for m := range levels {
				if d := pairs[l][m] - rows/levels/levels; d < -139 || d > 139 {
					t.Errorf("seed %d: level %d follows %d %d times", seed, m, l, pairs[l][m])
				}
			}
		}
	}
}
