package trained

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOversamplingEqualisesClasses checks counts, and that no row is favoured.
func TestOversamplingEqualisesClasses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 0, 0, 1}), 2, 80).Draw(t, "class")
		class = append(class, 0, 1)
		rows := make([]int32, 0, len(class))
		for i := range class {
			rows = append(rows, int32(i))
		}
		seed := rapid.Uint64().Draw(t, "seed")
		got := oversample(rows, class, 2, seed)
		times := make([]int, len(class))
		count := [2]int{}
		for _, r := range got {
			times[r]++
			count[class[r]]++
		}
		if count[0] != count[1] {
			t.Fatalf("classes have %v rows", count)
		}
		for a := range class {
			for b := range class {
				if class[a] == class[b] && times[a]-times[b] > 1 || times[a] == 0 {
					t.Fatalf("rows of one class appear %v times", times)
				}
			}
		}
		if !slices.Equal(got, oversample(rows, class, 2, seed)) {
			t.Fatal("the same seed gives other rows")
		}
	})
}
