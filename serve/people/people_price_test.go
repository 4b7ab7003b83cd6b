package people

import (
	"math/bits"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestShares: work has room exactly as Hall's theorem says: what every union of sets may do is enough for their work.
func TestShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "people")
		hours := make([]time.Duration, n)
		for i := range hours {
			hours[i] = time.Duration(rapid.IntRange(0, 10).Draw(t, "hours"))
		}
		s := shares{left: append([]time.Duration{}, hours...), done: map[uint64][]time.Duration{}}
		work := map[uint64]time.Duration{}
		var most, given time.Duration
		for range rapid.IntRange(1, 8).Draw(t, "sets") {
			set, more := uint64(rapid.IntRange(1, 1<<n-1).Draw(t, "set")), time.Duration(rapid.IntRange(1, 10).Draw(t, "work"))
			work[set] += more
			given += s.give(set, more)
		}
		// The maximum flow is the minimum cut: people on the side of the sink, and the work of sets that need none of them.
		most = -1
		for cut := range uint64(1) << n {
			var value time.Duration
			for rest := cut; rest != 0; rest &= rest - 1 {
				value += hours[bits.TrailingZeros64(rest)]
			}
			for set, w := range work {
				if set&^cut != 0 {
					value += w
				}
			}
			if most < 0 || value < most {
				most = value
			}
		}
		if given != most {
			t.Fatalf("%v of %v is given, not %v", given, work, most)
		}
	})
}
